"""How the site shows the API: docstrings in Google style, and names that lead to one place.

Classes are defined in private modules, and annotations name them there. Here each leads to where
it is public, and what nobody can name is not shown.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import pkgutil
import re
import sys
from enum import Enum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import attrs
from sphinx.addnodes import pending_xref
from sphinx.errors import ExtensionError
from sphinx.ext.napoleon import Config as Style
from sphinx.ext.napoleon.docstring import GoogleDocstring
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.nodes import make_refnode

import devroot

if TYPE_CHECKING:
    from types import ModuleType

    from docutils.nodes import Element, TextElement, document
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

PUBLIC = (
    "devroot",
    "devroot.errors",
    "devroot.nvidia",
    "devroot.cdi",
    "devroot.kubernetes",
    "devroot.oci",
    "devroot.udev",
    "devroot.testing",
    "devroot.testing.pytest_plugin",
)
# A private type whose fields are those of a public one.
SAME_AS = {"devroot.udev._catalog.Filters": "devroot.udev.Query"}

# Fields are shown as attributes, so that they are targets for links.
GOOGLE = Style(
    napoleon_use_ivar=False,
    napoleon_use_rtype=False,
    napoleon_custom_sections=["Races", "Privileges"],
)
TYPE_OF_FIELD = re.compile(
    r"^(?P<name>\.\. attribute:: \w+\n)(?P<text>(?:\n|   .*\n)*?)   :type: (?P<type>.+)$",
    re.MULTILINE,
)
MODE = re.compile(r"(\bmode: int(?: \| None)? = )(\d+)")
DOTTED = re.compile(r"\b[a-z_]\w*(?:\.\w+)+")  # what an annotation names


def own_modules() -> list[ModuleType]:
    """Return all modules of devroot, imported."""
    found = pkgutil.walk_packages(devroot.__path__, "devroot.")
    names = ["devroot", *(each.name for each in found if not each.name.endswith("__main__"))]
    return [import_module(name) for name in names]


def define_types(modules: list[ModuleType]) -> None:
    """Give modules what they have for type checkers alone, so that annotations mean something."""
    todo = [
        (module, ast.Module([statement], []))
        for module in modules
        for block in ast.parse(inspect.getsource(module)).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for statement in block.body
    ]
    while todo:
        later: list[tuple[ModuleType, ast.Module]] = []
        for module, statement in todo:
            try:
                exec(compile(statement, str(module.__file__), "exec"), vars(module))  # noqa: S102
            except (ImportError, NameError):  # it needs what another module is yet to be given
                later.append((module, statement))
        if len(later) == len(todo):
            message = f"cannot define {[ast.unparse(statement) for _, statement in later]}"
            raise ExtensionError(message)
        todo = later


def resolve_records(module: ModuleType) -> None:
    """Let the ``__init__`` that attrs wrote have types for annotations, as other functions do."""
    for value in vars(module).values():
        if isinstance(value, type) and attrs.has(value) and value.__module__ == module.__name__:
            init = value.__init__
            init.__annotations__ = get_type_hints(init, globalns=vars(module))


def read_docstring(  # noqa: PLR0913, PLR0917 - as autodoc calls it
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Turn a docstring in Google style into what Sphinx reads.

    Sphinx's own caller would take the words before a colon for the type of a field.
    """
    if what == "data":
        lines[:] = docstrings_of_values().get(name.rpartition(".")[2], [])
    what = "method" if what in {"attribute", "data", "property"} else what
    google: Any = GoogleDocstring  # it is typed for fewer kinds than there are
    text = str(google(lines, GOOGLE, app, what, name, obj, options))
    lines[:] = TYPE_OF_FIELD.sub(type_beside_name, text).splitlines()


def type_beside_name(field: re.Match[str]) -> str:
    """Return the field of a record with its type beside its name, in short, as in a signature."""
    short = DOTTED.sub(r"~\g<0>", field["type"])
    return f"{field['name']}   :type: {short}\n{field['text']}"


@cache
def docstrings_of_values() -> dict[str, list[str]]:
    """Return the lines below each value that a module defines; where it is imported has none."""
    return {
        name: lines
        for module in own_modules()
        for (scope, name), lines in ModuleAnalyzer.for_module(module.__name__)
        .find_attr_docs()
        .items()
        if not scope
    }


@cache
def public_types() -> frozenset[type]:
    """Return the classes that users can name."""
    names = [
        (import_module(module), name) for module in PUBLIC for name in import_module(module).__all__
    ]
    values = [getattr(module, name) for module, name in names]
    return frozenset(value for value in values if isinstance(value, type))


def is_private(value: object) -> bool:
    """Return whether this is a class of devroot that users cannot name."""
    own = getattr(value, "__module__", "").partition(".")[0] == "devroot"
    return isinstance(value, type) and own and value not in public_types()


def show_arguments(
    _app: Sphinx,
    what: str,
    _name: str,
    obj: type[object],
    _options: object,
    args: str | None,
    returns: str,
) -> tuple[str | None, str]:
    """Show the arguments that a user gives, permission bits in octal as everywhere.

    Of a class that only devroot makes, arguments of private types show that it is one, and none
    is shown. The defaults of the other classes are those that attrs makes.
    """
    if args is None:
        return args, returns
    args = MODE.sub(lambda mode: f"{mode[1]}{int(mode[2]):#o}", args)
    if what not in {"class", "exception"}:
        return args, returns
    named = map(split_name, DOTTED.findall(args))
    types = (vars(sys.modules[module]).get(name) for module, name in named)
    if issubclass(obj, Enum) or any(map(is_private, types)):
        return "", ""
    for field in attrs.fields(obj) if attrs.has(obj) else ():
        if factory := getattr(field.default, "factory", None):
            args = args.replace("NOTHING", f"{factory.__name__}()", 1)
    return args, returns


def hide_private_bases(
    _app: Sphinx, _name: str, _obj: type, _options: object, bases: list[type]
) -> None:
    """Show of a base class that nobody can name what that one derives from."""
    while hidden := [each for each in bases if is_private(each)]:
        at = bases.index(hidden[0])
        bases[at : at + 1] = [each for each in hidden[0].__bases__ if each not in bases]


def look_for_types(_app: Sphinx, doctree: document) -> None:
    """Let the built-in types in annotations not be taken for fields of the same name.

    What ``typing_extensions`` has for older Pythons is described with the ``typing`` of new ones.
    """
    for node in doctree.findall(pending_xref):
        if node["reftarget"].startswith("typing_extensions."):
            node["reftarget"] = node["reftarget"].replace("_extensions", "", 1)
            node["reftype"] = "obj"  # for it is no class
        built_in = isinstance(vars(builtins).get(node["reftarget"]), type)
        if built_in and (node.get("refdomain"), node["reftype"]) == ("py", "class"):
            for scope in ("py:module", "py:class", "refspecific"):
                node.attributes.pop(scope, None)


def resolve_own_name(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, contnode: TextElement
) -> Element | None:
    """Lead to the one public place of a name, whichever module it is named from.

    Docstrings have the short name, and some names are public in two modules. A type variable has
    no place.
    """
    if node.get("refdomain") != "py":
        return None
    target = str(node["reftarget"])
    module, name = split_name(SAME_AS.get(target, target))
    if isinstance(vars(sys.modules[module]).get(name), TypeVar):
        return contnode
    objects = env.domains.python_domain.objects
    places = [place for each in PUBLIC if (place := f"{each}.{name}") in objects]
    if len(places) != 1:
        return None
    found = objects[places[0]]
    where = (app.builder, node["refdoc"], found.docname, found.node_id)
    return make_refnode(*where, contnode, places[0])


def split_name(name: str) -> tuple[str, str]:
    """Return the module that *name* starts with, and the rest; a short one is of ``devroot``."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:cut])
        if parts[0] == "devroot" and module in sys.modules:
            return module, ".".join(parts[cut:])
    return "devroot", name


def setup(app: Sphinx) -> dict[str, bool]:
    """Take part in the build."""
    modules = own_modules()
    define_types(modules)
    for module in modules:
        resolve_records(module)
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", read_docstring)
    app.connect("autodoc-process-signature", show_arguments)
    app.connect("autodoc-process-bases", hide_private_bases)
    app.connect("doctree-read", look_for_types)
    app.connect("missing-reference", resolve_own_name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
