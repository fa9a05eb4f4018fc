"""The reference of errors: its tree and its tables are those of the classes."""

from __future__ import annotations

import builtins
import inspect
import re
from importlib import import_module

from devroot import errors
from tests import _error_tree
from tests._pages import Page

PAGE = Page("docs/reference/errors.md").text
ROWS = re.findall(r"^\| `(\w+Error)` \| (.+) \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)
ROOMS = ("_input", "_places", "_driver", "_devices")


def documented_attributes(error: type[BaseException]) -> list[str]:
    """Return the attributes that the docstring of an error has, in its order."""
    lines = (inspect.getdoc(error) or "").partition("Attributes:\n")[2]
    return re.findall(r"^    (\w+): ", lines, re.MULTILINE)


def test_the_tree_is_that_of_the_classes() -> None:
    """Names, bases and built-ins; `python tests/_error_tree.py` writes them."""
    (shown,) = _error_tree.BLOCK.findall(PAGE)
    assert shown == _error_tree.block()
    assert shown.count("── ") == len(errors.__all__) - 1


def test_the_tree_shows_what_each_error_is() -> None:
    """One below another in the tree, and of the built-in in its brackets, is so in Python."""
    for name, builtin in re.findall(r"── (\w+)\((\w+)\)", _error_tree.block()):
        error = getattr(errors, name)
        assert issubclass(error, errors.DevRootError)
        assert issubclass(error, getattr(builtins, builtin))


def test_every_error_has_one_row() -> None:
    """In the order of the classes, with when it is raised and the way out."""
    rooms = [import_module(f"devroot.errors.{room}") for room in ROOMS]
    defined = [
        name
        for room in rooms
        for name, value in vars(room).items()
        if name in errors.__all__ and value.__module__ == room.__name__
    ]
    assert [name for name, *_ in ROWS] == defined
    assert {*defined} == {*errors.__all__} - {"DevRootError"}


def test_every_attribute_is_named() -> None:
    """As the docstring has them, in its order."""
    for name, _, attributes, _ in ROWS:
        expected = ", ".join(f"`{one}`" for one in documented_attributes(getattr(errors, name)))
        assert attributes == expected, name
