"""The start of a plugin keeps to the system calls that the page gives for it."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from devroot import ContainerPath, LocalFileSystem
from tests.conftest import IN_CI
from tests.kernel._harness import Host, Volume
from tests.kernel._start import MARK

pytestmark = pytest.mark.kernel

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "system-calls.md"

CLASSES: Final = {
    "opens": {"open", "openat", "openat2"},
    "looks": {"stat", "lstat", "fstat", "newfstatat", "statx", "fstatfs", "statfs"},
    "links": {"readlink", "readlinkat"},
    "lists": {"getdents", "getdents64"},
    "reads": {"read", "pread64", "poll", "ppoll"},
    "descriptors": {"close", "dup", "dup3", "fcntl", "lseek"},
}
NOT_COUNTED: Final = re.compile(r"brk|futex|m(map|unmap|remap|advise|protect)|rt_sig\w+")
"""What the interpreter does for its memory and its locks, of which no two runs have the same."""

NAMES: Final = ("nvidia-caps", "nvidia-caps-imex-channels")
COLUMNS: Final = (*CLASSES, "mount tables", "all")
LIMITS: Final = ("reads", "descriptors", "all")
"""The columns that are upper limits; the others are exact."""

if shutil.which("strace") is None:
    if IN_CI:
        raise RuntimeError("CI counts system calls, which needs strace")  # noqa: EM101, TRY003
    pytest.skip("needs strace", allow_module_level=True)


def budgets() -> dict[str, dict[str, dict[str, int]]]:
    """Return the tables of the page, by their headings: the numbers of each step."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for section in PAGE.read_text().split("\n### ")[1:]:
        heading = section.partition("\n")[0]
        rows = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in section.splitlines()
            if line.startswith("|")
        ]
        if rows and rows[0] == ["step", *COLUMNS]:
            found[heading] = {
                step: dict(zip(COLUMNS, map(int, numbers), strict=True))
                for step, *numbers in rows[2:]
            }
    return found


BUDGETS: Final = budgets()


def counted(trace: str) -> dict[str, dict[str, int]]:
    """Return the numbers of each step in a trace, as the page has them.

    The reads of a mount table depend on its size, and only how often it is opened is counted.
    """
    found: dict[str, Counter[str]] = {}
    here: Counter[str] = Counter()
    for line in trace.splitlines():
        call, _, rest = line.partition("(")
        if MARK in rest:
            here = Counter()
            found[rest.partition(MARK)[2].partition('"')[0].replace("-", " ")] = here
        elif not NOT_COUNTED.fullmatch(call):
            (kind,) = [name for name, calls in CLASSES.items() if call in calls] or [call]
            of_table = "/mountinfo>" in rest and "O_PATH" not in rest
            here["mount tables"] += kind == "opens" and of_table
            here[kind] += not (kind == "reads" and of_table)
    del found["end"]
    for numbers in found.values():
        numbers["all"] = numbers.total() - numbers["mount tables"]
        assert numbers.keys() <= set(COLUMNS), "the page has no column for this"
    return {step: {name: numbers[name] for name in COLUMNS} for step, numbers in found.items()}


def test_the_page_has_a_budget_for_each_case() -> None:
    """There is a table for each way to a dev root and for each way to follow a path."""
    assert list(BUDGETS) == [
        f"{place}, by {resolver}"
        for place in ("The driver root has a dev", "A fallback has it")
        for resolver in ("openat2", "the walk")
    ]


@pytest.mark.parametrize("heading", list(BUDGETS))
def test_the_start_keeps_to_its_budget(heading: str) -> None:
    """View, dev root and two planned nodes take the system calls that the page says, step by step.

    How often a descriptor is copied to list it, and what is asked of it then, is the C library's
    matter, so some columns are upper limits.
    """
    fallback, resolver = heading.startswith("A fallback"), heading.rpartition(" ")[2]
    if resolver == "openat2":
        try:
            LocalFileSystem(resolver="openat2").status(ContainerPath("/"), "/")
        except OSError:
            pytest.skip("openat2 is refused here")
    with Host() as host:
        for name in NAMES:
            host.call("make_directory", path=f"/dev/{name}")
            place = "lib" if fallback else f"dev/{name}"
            host.call("make_directory", path=f"/run/nvidia/driver/{place}")
        plugin = host.container(
            Volume("/run/nvidia/driver", "/driver-root"),
            *(Volume(f"/dev/{name}", f"/host-dev/dev/{name}") for name in NAMES),
        )
        trace = plugin.call("trace", module="_start", fallback=fallback, resolver=resolver)

    found = counted(trace)

    assert list(found) == list(BUDGETS[heading])[:-1]
    found["together"] = {name: sum(numbers[name] for numbers in found.values()) for name in COLUMNS}
    for step, budget in BUDGETS[heading].items():
        numbers = found[step]
        limited = {name: min(numbers[name], budget[name]) for name in LIMITS}
        assert numbers == budget | limited, f"{step}: {numbers}"
