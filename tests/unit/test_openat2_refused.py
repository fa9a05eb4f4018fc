"""The filter with which the whole suite can run as if the kernel had no openat2."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from devroot import _syscalls
from devroot._local import LocalFileSystem
from devroot._paths import ContainerPath
from tests import _openat2
from tests._children import in_child

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["ENOSYS", "EPERM", "EINVAL"])
def test_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """With the filter openat2 fails as told, and paths are resolved all the same."""
    monkeypatch.setenv(_openat2.VARIABLE, name)
    (tmp_path / "d").mkdir()
    (tmp_path / "l").symlink_to("/d")

    def answers() -> tuple[str, int, str]:
        said = _openat2.obey()
        try:
            _syscalls.openat2(os.open(tmp_path, os.O_PATH), b"l", flags=os.O_PATH)
        except OSError as error:
            found = error.errno or 0
        else:
            found = 0
        place = LocalFileSystem().resolve(ContainerPath(str(tmp_path)), "l")
        return said, found, str(place)

    expected = f"openat2: {name}, by a filter", getattr(errno, name), str(tmp_path / "d")
    assert in_child(answers) == expected


def test_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variable nothing is refused."""
    monkeypatch.delenv(_openat2.VARIABLE, raising=False)
    assert _openat2.obey() == ""


def test_wrongly_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that is no error is an error itself."""
    monkeypatch.setenv(_openat2.VARIABLE, "no")
    with pytest.raises(pytest.UsageError, match="'no'"):
        _openat2.obey()
