"""The errors of specs: what they say and hold, also after a journey to another process."""

from __future__ import annotations

import copy
import pickle

import pytest

from devroot.cdi import UnmappedPath
from devroot.errors import DevRootError, InvalidSpecError, UnmappedPathsError

ONE = UnmappedPath(location="devices[0].containerEdits", path="/x", reason="it is on no mount")
UNMAPPED = """1 path has no counterpart on the other side:
  - devices[0].containerEdits: it is on no mount"""
EXAMPLES: list[tuple[DevRootError, type[Exception], str]] = [
    (
        InvalidSpecError("devices[0].name", "-", reason="it is odd"),
        ValueError,
        "devices[0].name is '-': it is odd",
    ),
    (InvalidSpecError("", None, reason="it is odd"), ValueError, "the spec: it is odd"),
    (
        UnmappedPathsError((ONE,)),
        LookupError,
        UNMAPPED,
    ),
]


@pytest.mark.parametrize(("error", "builtin", "text"), EXAMPLES)
def test_error(error: DevRootError, builtin: type[Exception], text: str) -> None:
    """It is the built-in that a caller would catch, and says where and why."""
    assert isinstance(error, builtin)
    assert str(error) == text
    for other in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(other), str(other), vars(other)) == (type(error), text, vars(error))
