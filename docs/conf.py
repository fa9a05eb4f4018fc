"""How the documentation site is built; CONTRIBUTING.md says by which command.

It documents the devroot that is installed, not the one in the working tree.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import sys
import zlib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, get_type_hints

import attrs
from sphinx.errors import ExtensionError
from sphinx.util.nodes import make_refnode

import devroot

if TYPE_CHECKING:
    from types import ModuleType

    from docutils.nodes import Element, TextElement
    from sphinx.addnodes import pending_xref
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
    "sphinx.ext.napoleon",
    "sphinxcontrib.spelling",
]
exclude_patterns = ["examples"]
nitpicky = True
default_role = "py:obj"  # what a docstring has in single backticks is a name of the API

# It shows on every page where that stands in the site, and loads nothing from other hosts.
html_theme = "furo"
html_title = f"devroot {release}"
html_copy_source = False
html_show_sphinx = False

# The anchors of headings are those that code hosts give them.
myst_heading_anchors = 4

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
napoleon_numpy_docstring = False
napoleon_use_ivar = False  # fields are targets for links
napoleon_use_rtype = False
napoleon_custom_sections = ["Races", "Privileges"]

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


def hide_private_bases(
    _app: Sphinx, _name: str, _obj: type, _options: object, bases: list[type]
) -> None:
    """Leave out base classes that nobody can name."""
    bases[:] = [each for each in bases if not getattr(each, "__name__", "").startswith("_")]


def resolve_own_name(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, contnode: TextElement
) -> Element | None:
    """Lead to the one public place of a name, whichever module it is named from.

    Classes are defined in private modules, and some are public in two: annotations have the
    former, and docstrings the short name.
    """
    if node.get("refdomain") != "py":
        return None
    name = str(node["reftarget"])
    parts = name.split(".")
    domain = env.domains.python_domain
    short = name
    for cut in range(len(parts) - 1, 0, -1):
        if parts[0] == "devroot" and ".".join(parts[:cut]) in sys.modules:
            short = ".".join(parts[cut:])
            break
    places = [f"{module}.{short}" for module in PUBLIC if f"{module}.{short}" in domain.objects]
    if len(places) != 1:
        return None
    entry = domain.objects[places[0]]
    return make_refnode(
        app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, places[0]
    )


def setup(app: Sphinx) -> None:
    """Take part in the build."""
    modules = own_modules()
    define_types(modules)
    for module in modules:
        resolve_records(module)
    app.connect("config-inited", write_inventory)
    app.connect("source-read", move_links_of_page)
    app.connect("include-read", move_links_of_included)
    app.connect("autodoc-process-bases", hide_private_bases)
    app.connect("missing-reference", resolve_own_name)
