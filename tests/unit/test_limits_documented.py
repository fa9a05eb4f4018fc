"""The reference of limits: its numbers are those of the code, and none is left out."""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import Final

import devroot
from devroot.cdi import _versions
from tests._pages import TOP, Page

PAGE: Final = Page("docs/reference/limits.md").text
ROWS: Final = re.findall(
    r"^\| .+ \| ([0-9][0-9,]*)(?: \(0o(\d+)\))? \| .+ \| .* \| `([\w.]+)` \|$", PAGE, re.MULTILINE
)

# Numbers by name that bound nothing.
NO_LIMITS: Final = {
    # Numbers, bits and sizes that an interface of the kernel, or a file format, has.
    "devroot._ldcache._ABI_MASK",
    "devroot._ldcache._BYTE_ORDER_AT",
    "devroot._ldcache._BYTE_ORDER_MASK",
    "devroot._ldcache._KIND_MASK",
    "devroot._ldcache._NEW_HEADER",
    "devroot._ldcache._OLD_HEADER",
    "devroot._local._walk._NOSYMFOLLOW",
    "devroot._local._walk._STICKY_SHARED",
    "devroot._syscalls.RENAME_NOREPLACE",
    "devroot._syscalls.RESOLVE_IN_ROOT",
    "devroot._syscalls.RESOLVE_NO_MAGICLINKS",
    "devroot._syscalls._AT_SYMLINK_NOFOLLOW",
    "devroot._syscalls._FCHMODAT2",
    "devroot._syscalls._OPENAT2",
    "devroot._view.CAP_MKNOD",
    "devroot.udev._hidden._NS_GET_USERNS",
    # Characters that are looked for.
    "devroot._mounttree._SLASH",
    # How much is read in one call.
    "devroot._local._handle._CHUNK",
    "devroot._local._handle.READABLE_DIRECTORY",
    # Modes, and numbers of particular nodes.
    "devroot._find._READ_OR_EXECUTE",
    "devroot._mknod._places._DIRECTORY_MODE",
    "devroot._mknod._places._WORKING_MODE",
    "devroot.cdi._files._MODE",
    "devroot.nvidia._capabilities._MODE",
    "devroot.nvidia._driver._MIG_ACCESS_MODE",
    "devroot.nvidia._nodes.CONTROL_MINOR",
    "devroot.nvidia._nodes.MODESET_MINOR",
    "devroot.nvidia._parameters._MODE",
    "devroot.nvidia._parameters._NO_ID",
    "devroot.udev._device._MODE_OF_DEVTMPFS",
    # Levels of the log, versions of formats, and exit statuses.
    "devroot._cli._commands._ACCEPTED",
    "devroot._cli._commands._NOT_ACCEPTED",
    "devroot._cli._devices.SCHEMA",
    "devroot._cli._json.SCHEMA",
    "devroot._cli._making.SCHEMA",
    "devroot._log.DEBUG",
    "devroot._log.INFO",
}


def value_of(name: str) -> object:
    """Return what a dotted name stands for."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError:
        return getattr(value_of(module), attribute)


def numbers() -> set[str]:
    """Return every constant of a number in the package; the fake's own are not for users."""
    found: set[str] = set()
    for module in pkgutil.walk_packages(devroot.__path__, "devroot."):
        if module.name.startswith("devroot.testing") or module.name.endswith("__main__"):
            continue
        source = importlib.import_module(module.name)
        path = (TOP / (source.__file__ or "")).read_text(encoding="utf-8")
        for name in re.findall(r"^(_?[A-Z][A-Z0-9_]*)\b[^=\n]*=", path, re.MULTILINE):
            if isinstance(getattr(source, name), int):
                found.add(f"{module.name}.{name}")
    return found


def test_every_number_is_that_of_the_code() -> None:
    """A row has the value of the constant that it names."""
    assert len(ROWS) > 40
    told = {name: int(number.replace(",", "")) for number, _, name in ROWS}
    assert told == {name: value_of(name) for name in told}
    assert [int(number.replace(",", "")) for number, octal, _ in ROWS if octal] == [
        int(octal, 8) for _, octal, _ in ROWS if octal
    ]


def test_every_row_has_a_number_and_a_constant() -> None:
    """A row of a limit without them would be left out of the comparison."""
    tables = PAGE.split("\n## What it runs on")[0]
    rows = [row for row in re.findall(r"^\| .*$", tables, re.MULTILINE) if "| number |" not in row]
    assert len(rows) == len(ROWS)


def test_no_limit_is_left_out() -> None:
    """Each constant of a number is on the page, or it is known to bound nothing."""
    told = {name for _, _, name in ROWS}
    found = numbers()
    assert found - told - NO_LIMITS == set()
    assert NO_LIMITS - found == set()
    assert NO_LIMITS & told == set()


def test_what_it_runs_on_is_what_is_declared() -> None:
    """Pythons and libraries are those of the metadata, the versions of CDI those that are known."""
    project = (TOP / "pyproject.toml").read_text(encoding="utf-8")
    pythons = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    assert f"| Python | {', '.join(pythons)} |" in PAGE
    (needed,) = re.findall(r"^dependencies = \[(.+)\]$", project, re.MULTILINE)
    for name, version in re.findall(r'"([\w-]+)>=([\d.]+)"', needed):
        assert f"| {name} | {version} and later |" in PAGE
    known = f"from {_versions.VERSIONS[0]} to {_versions.LATEST} are known"
    assert known in PAGE
    assert f"one from {_versions.EARLIEST} on" in PAGE
