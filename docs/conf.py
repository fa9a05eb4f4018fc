"""How the documentation site is built; CONTRIBUTING.md says by which command.

It documents the devroot that is installed, not the one in the working tree.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import pkgutil
import re
import sys
import zlib
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import attrs
from sphinx.addnodes import pending_xref
from sphinx.errors import ExtensionError
from sphinx.ext.napoleon import Config as Style
from sphinx.ext.napoleon.docstring import GoogleDocstring
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.nodes import make_refnode
from sphinxcontrib.spelling.builder import (  # type: ignore[import-untyped]
    SpellingBuilder,
)

import devroot

if TYPE_CHECKING:
    from types import ModuleType

    from docutils.nodes import Element, TextElement, document
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment

HERE = Path(__file__).parent
PYTHON = "https://docs.python.org/3"
INVENTORY = HERE.parent / "build" / "docs" / "python.inv"

project = "devroot"
author = "The devroot authors"
project_copyright = author
version = release = devroot.__version__
language = "en_GB"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.graphviz",
    "sphinx.ext.intersphinx",
    "sphinxcontrib.spelling",
]
exclude_patterns = ["examples"]
nitpicky = True
toc_object_entries_show_parents = "hide"
default_role = "py:obj"  # what a docstring has in single backticks is a name of the API

# It shows on every page where that stands in the site, and loads nothing from other hosts.
html_theme = "furo"
html_title = f"devroot {release}"
html_theme_options = {"light_css_variables": {"code-font-size": "75%"}}  # 98 columns fit
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False

# The anchors of headings are those that code hosts give them.
myst_heading_anchors = 4

# How docstrings in Google style are shown: their fields are targets for links.
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
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"

# White behind the diagrams, so that they are legible in the dark as well.
graphviz_output_format = "svg"
graphviz_dot_args = ["-Gbgcolor=white", *(f"-{each}fontname=Helvetica" for each in "GNE")]

intersphinx_mapping = {"python": (PYTHON, str(INVENTORY))}
intersphinx_timeout = 1

spelling_lang = "en_GB"
spelling_word_list_filename = ["spelling-words.txt"]
spelling_show_suggestions = True
# What is right must not depend on what is installed.
spelling_ignore_importable_modules = False

linkcheck_anchors = True

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

# Pages at the root of the repository, and the pages of the site that include them.
INCLUDED = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "SECURITY.md": "security.md",
}


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


def write_inventory(_app: Sphinx, _config: Config) -> None:
    """Write what a build knows of Python's own documentation, without asking for it."""
    header = "# Sphinx inventory version 2\n# Project: Python\n# Version: 3\n# compressed by zlib\n"
    listed = (HERE / "python-names.txt").read_text(encoding="utf-8").splitlines()
    lines: list[str] = []
    for line in listed:
        if line and not line.startswith("#"):
            role, name, page = line.split()
            lines.append(f"{name} py:{role} 1 {page} -\n")
    INVENTORY.parent.mkdir(parents=True, exist_ok=True)
    INVENTORY.write_bytes(header.encode() + zlib.compress("".join(lines).encode()))


def move_links(docname: str, content: list[str], *, included: bool) -> None:
    """Turn links between pages that the site has elsewhere than the repository."""
    up = "" if included else "../" * (docname.count("/") + 1)
    for name, page in INCLUDED.items():
        here = page if included else up.removeprefix("../") + page
        content[0] = content[0].replace(f"]({up}{name}", f"]({here}")
    if included:
        content[0] = content[0].replace("](docs/", "](")


def move_links_of_page(_app: Sphinx, docname: str, content: list[str]) -> None:
    """Turn the links of a page below ``docs/`` that lead out of it."""
    move_links(docname, content, included=False)


def move_links_of_included(_app: Sphinx, _path: Path, docname: str, content: list[str]) -> None:
    """Turn the links of a page at the root of the repository."""
    move_links(docname, content, included=True)


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
    _app: Sphinx, what: str, _name: str, obj: type, _options: object, args: str | None, returns: str
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
    module, name = split_name(SAME_AS.get(node["reftarget"], node["reftarget"]))
    if isinstance(vars(sys.modules[module]).get(name), TypeVar):
        return contnode
    objects = env.domains.python_domain.objects
    places = [place for each in PUBLIC if (place := f"{each}.{name}") in objects]
    if len(places) != 1:
        return None
    found = objects[places[0]]
    target = (app.builder, node["refdoc"], found.docname, found.node_id)
    return make_refnode(*target, contnode, places[0])


def split_name(name: str) -> tuple[str, str]:
    """Return the module that *name* starts with, and the rest; a short one is of ``devroot``."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:cut])
        if parts[0] == "devroot" and module in sys.modules:
            return module, ".".join(parts[cut:])
    return "devroot", name


def setup(app: Sphinx) -> None:
    """Take part in the build."""
    SpellingBuilder.TEXT_NODES.add("strong")  # what is emphasised is the name of a parameter
    modules = own_modules()
    define_types(modules)
    for module in modules:
        resolve_records(module)
    app.connect("config-inited", write_inventory)
    app.connect("source-read", move_links_of_page)
    app.connect("include-read", move_links_of_included)
    app.connect("autodoc-process-docstring", read_docstring)
    app.connect("autodoc-process-signature", show_arguments)
    app.connect("autodoc-process-bases", hide_private_bases)
    app.connect("doctree-read", look_for_types)
    app.connect("missing-reference", resolve_own_name)
