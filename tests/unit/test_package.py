"""The package as a whole: what it exports, and what it is made of."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import devroot
import devroot.errors
from tests._children import environment

ROOMS = [
    name
    for name in (
        "devroot",
        *(module.name for module in pkgutil.walk_packages(devroot.__path__, "devroot.")),
    )
    if not name.endswith("__main__")
]
ENTRANCES = [name for name in ROOMS if not any(part[0] == "_" for part in name.split("."))]


def run_fresh(programme: str) -> str:
    """Return what a fresh interpreter prints, with the devroot of this test and no coverage."""
    done = subprocess.run(
        [sys.executable, "-c", programme],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


def test_version_is_that_of_the_metadata() -> None:
    """The installed metadata has its version from the package: there is one place for it."""
    try:
        installed = importlib.metadata.version("devroot")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("devroot is imported from the working tree, without metadata")
    assert installed == devroot.__version__


def test_requirements_are_those_of_the_design() -> None:
    """Three run-time dependencies, and no extras."""
    try:
        requirements = importlib.metadata.requires("devroot") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("devroot is imported from the working tree, without metadata")
    names = {requirement.split(">")[0] for requirement in requirements}
    assert names == {"attrs", "pyudev", "typing-extensions"}


def test_no_requirement_has_an_upper_bound() -> None:
    """Each says from which version on, and nothing else; so do the tools, and the Python."""
    pyproject = (Path(__file__).parent.parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    tables = dict(re.findall(r"^\[([a-z-]+)\]\n((?:(?!\[).*\n)*)", pyproject, re.MULTILINE))
    told = [tables[name] for name in ("build-system", "project", "dependency-groups")]
    found = re.findall(r'"([\w.-]*)(?:\[[\w,]+\])?([<>=~!][^"]*)"', "".join(told))
    assert {"attrs", "pytest", "hatchling", ""} <= {name for name, _ in found}
    assert [each for each in found if not re.fullmatch(r">=[\d.]+", each[1])] == []


def test_one_list_of_pythons() -> None:
    """What is declared, what is tested, and what the pages say are the same Pythons."""
    top = Path(__file__).parent.parent.parent
    pyproject, script, readme, page = (
        (top / name).read_text(encoding="utf-8")
        for name in ("pyproject.toml", ".ci/dev.py", "README.md", "docs/reference/versioning.md")
    )
    declared = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', pyproject)
    first, last = declared[0], declared[-1]
    assert f'requires-python = ">={first}"' in pyproject
    assert f'python_version = "{first}"' in pyproject
    (tested,) = re.findall(r"^PYTHONS = (.*)$", script, re.MULTILINE)
    assert ast.literal_eval(tested) == (*declared,)
    assert f"Python {first} to {last}" in readme
    assert f"every Python from {first} to {last}" in page


def test_package_is_marked_as_typed() -> None:
    """The marker of PEP 561 lies in the package, wherever that is imported from."""
    assert Path(devroot.__file__).with_name("py.typed").exists()


def test_each_room_can_be_entered_first() -> None:
    """Every module imports in a fresh interpreter of its own: no order has to be kept."""
    programme = f"""
import importlib, os, sys, traceback
import attrs
for name in {ROOMS!r}:
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(name, error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""
    assert run_fresh(programme) == ""


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_all_names_can_be_had(entrance: str) -> None:
    """Each name in ``__all__`` stands there once, exists, and is shown by ``dir()``."""
    module = importlib.import_module(entrance)
    assert len(set(module.__all__)) == len(module.__all__)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name) is not None


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_all_is_complete(entrance: str) -> None:
    """Whatever of the package has a public name at a public entrance is in ``__all__``."""
    module = importlib.import_module(entrance)
    own = {
        name
        for name, value in vars(module).items()
        if name[0] != "_"
        and getattr(value, "__module__", "").split(".")[0] == "devroot"
        and (inspect.isclass(value) or inspect.isroutine(value))
        and (value.__module__ == entrance or hasattr(module, "__path__"))
    }
    assert own <= set(module.__all__)


def test_type_checkers_see_the_same_names() -> None:
    """The names that type checkers find at the front door are those that can be imported there."""
    tree = ast.parse(Path(devroot.__file__).read_text(encoding="utf-8"))
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    shown = {alias.asname or alias.name for node in imports for alias in node.names}
    assert shown | {"__version__"} == set(devroot.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    """A name that devroot does not have fails as it does for any other module."""
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(devroot, "no_such_name")  # noqa: B009 - the type checkers know as well


def test_every_error_is_at_the_front_door() -> None:
    """All errors can be imported from devroot itself, and are the same classes there."""
    for name in devroot.errors.__all__:
        assert getattr(devroot, name) is getattr(devroot.errors, name)


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_public_names_say_since_when(entrance: str) -> None:
    """Each exported class and function has a docstring that ends in when it came."""
    module = importlib.import_module(entrance)
    silent = [
        name
        for name in module.__all__
        if (inspect.isclass(value := getattr(module, name)) or inspect.isroutine(value))
        and ".. versionadded::" not in (value.__doc__ or "")
    ]
    assert silent == []
