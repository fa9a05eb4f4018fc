"""What the pages for people show: every programme and every command in them is run."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, Final

import pytest

from devroot import Mount, SubsetFallback
from devroot.__main__ import main
from devroot._cli._arguments import parse
from tests import _pages
from tests._kubernetes import yaml
from tests._pages import TOP, Page, all_pages, commands_of, promised, shows

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES: Final = all_pages()
WITH_PYTHON: Final = [page for page in PAGES if page.blocks("python")]

# Pages whose Python is run by a test of its own, because it needs more than Python.
ELSEWHERE: Final = {
    "docs/how-to/write-a-dra-driver.md": (
        "tests/dra/test_deployment.py::test_the_page_shows_the_files"
    ),
}
# Pages that show in a text block what a command prints, which a test of its own runs likewise.
SHOWN_ELSEWHERE: Final = {
    "docs/reference/cli.md": "tests/unit/udev/test_cli_mknod.py::test_the_example_of_the_reference",
}
PROGRAMMES: Final = [
    page
    for page in WITH_PYTHON
    if page.name not in ELSEWHERE and not page.is_walk() and not page.is_tests()
]

DEVROOT: Final = ("python", "-m", "devroot")
# Commands that no test runs: they need the network, a cluster or a checkout to work on.
NOT_RUN: Final = (
    "bash .ci/run",
    "kubectl ",
    "mkdir ",
    "python3 tests/benchmarks/",
    "python3 -m venv ",
    "python3 .ci/dev.py ",
    ". .venv/bin/activate",
    "pip install ",
)
INIT: Final = re.compile("initContainers:\n")
# What a walk runs: see `tests._pages.walk`.
IN_A_WALK: Final = ("pytest", "python ", "sudo ")


def shown_commands() -> Iterator[tuple[Page, str, str]]:
    """Yield each command of the library that a page shows, with the output below it."""
    for page in PAGES:
        for command, output in page.commands():
            if command.startswith(" ".join(DEVROOT)):
                yield page, command, output


def commands_in_pods() -> Iterator[tuple[Page, str]]:
    """Yield the arguments of each command of the library that a page has for a pod or a host."""
    for page in PAGES:
        found = [line for line, _ in page.commands() if not line.startswith(" ".join(DEVROOT))]
        for text in page.blocks("text"):
            found += [] if "[--" in text else text.replace("\\\n", " ").splitlines()
        for text in filter(INIT.match, page.blocks("yaml")):
            part: dict[str, list[dict[str, list[str]]]] = yaml.safe_load(text)
            for container in part["initContainers"]:
                found.append(" ".join([*container["command"], *container["args"]]))
        for line in found:
            _, is_command, arguments = line.partition(f" {' '.join(DEVROOT[1:])} ")
            if is_command:
                yield page, arguments


@pytest.mark.parametrize("page", PROGRAMMES, ids=str)
def test_programmes_print_what_they_promise(
    page: Page, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Python of a page runs as one programme, and prints what stands beside and below."""
    _pages.run_programme(page, monkeypatch)
    printed = "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())
    programme = "\n".join(page.blocks("python"))
    expected = promised(programme)
    assert expected or "\nassert " in programme, "a programme says what comes of it"
    assert shows(expected, printed), f"{page} promises:\n{expected}and prints:\n{printed}"


@pytest.mark.parametrize(("page", "command", "output"), [*shown_commands()], ids=str)
def test_commands_print_what_is_shown(
    capsys: pytest.CaptureFixture[str], page: Page, command: str, output: str
) -> None:
    """What a page shows of a command of the library is what it prints."""
    main(shlex.split(command)[len(DEVROOT) :])
    captured = capsys.readouterr()
    printed = captured.out + captured.err
    assert shows(output, printed), f"{page}, {command}:\n{printed}"


@pytest.mark.parametrize(("page", "arguments"), [*commands_in_pods()], ids=str)
def test_commands_for_pods_are_understood(page: Page, arguments: str) -> None:
    """A command that cannot be run here has the options that there are, with possible values."""
    assert parse(shlex.split(arguments), version=page.name).command in arguments.split()


@pytest.mark.parametrize(("name", "test"), [*ELSEWHERE.items(), *SHOWN_ELSEWHERE.items()])
def test_what_is_run_elsewhere(name: str, test: str) -> None:
    """A page that is left out here is read by the test that is named for it."""
    file, function = test.split("::")
    source = (TOP / file).read_text(encoding="utf-8")
    assert f"def {function}(" in source
    assert name.removeprefix("docs/") in source
    assert Page(name) in PAGES


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Page) -> None:
    """Every link from a page leads to a file of the project, and to a heading that is in it."""
    astray: list[str] = []
    for link in page.links():
        target, _, anchor = link.partition("#")
        path = (TOP / page.name).parent / target if target else TOP / page.name
        name = os.path.relpath(path, TOP)
        if not path.exists() or (anchor and anchor not in Page(name).anchors()):
            astray.append(link)
    assert astray == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_command_is_run(page: Page) -> None:
    """A command in a page is one of the library, or it is known why no test runs it."""
    known = (" ".join(DEVROOT), *NOT_RUN, *(IN_A_WALK if page.is_walk() else ()))
    assert [line for line, _ in page.commands() if not line.startswith(known)] == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_no_example_hides(page: Page) -> None:
    """Python is in blocks of that language, and commands with a prompt in console blocks."""
    languages = {language for language, _ in page.fences() if language[:1] != "{"}
    assert languages <= {"python", "console", "text", "yaml", "json", "go", "sh", "dot", "diff"}
    for text in page.blocks("text"):
        assert not re.search(r"^(import|from) |^\w+ = \w+[.(]|^def ", text, re.MULTILINE)
        assert page.name in SHOWN_ELSEWHERE or not re.search(r"^\$ ", text, re.MULTILINE)


VOLUMES: Final = {"docs/how-to/follow-hot-plug.md": SubsetFallback("/host-dev", ["infiniband"])}
"""Whose mounts the volumes are that a page shows."""


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_volumes_are_those_that_are_needed(page: Page) -> None:
    """YAML on a page is an init container, whose command is checked, or a fallback's volumes."""
    shown = [text for text in page.blocks("yaml") if not INIT.match(text)]
    assert bool(shown) == (page.name in VOLUMES)
    for text in shown:
        part = yaml.safe_load(text)
        paths = {volume["name"]: volume["hostPath"]["path"] for volume in part["volumes"]}
        mounts = {
            Mount(host=paths[m["name"]], container=m["mountPath"]) for m in part["volumeMounts"]
        }
        assert mounts == set(VOLUMES[page.name].mounts)


@pytest.mark.parametrize(
    ("programme", "expected"),
    [
        ("print(1)  # 1\n", "1\n"),
        ("x = 1  # one\n# a remark\nprint(x)\n", ""),
        ("print(\n    1\n)  # 1\n", "1\n"),
        ("for x in 'ab':\n    print(x)\n# a\n# b\n\n# a remark\n", "a\nb\n"),
        ("def f():\n    print(1)  # 1\n    # a remark\nf()\n# a remark\n", "1\n"),
        ("print(1)  # 1\nprint('# 2')\n", "1\n"),
    ],
)
def test_what_is_promised(programme: str, expected: str) -> None:
    """Comments beside a print and right below a statement that prints are its output."""
    assert promised(programme) == expected


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\n", "a\n", True),
        ("a\n", "b\n", False),
        ("a\n", "a\nb\n", False),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\nd\n", "a\nb\nc\n", False),
        ("a...\nc\n", "abb\nc\n", True),
        ("a...\nc\n", "a\nb\nc\n", False),
        ("1 passed in 0.12s\n", "1 passed in 3.40s\n", True),
        ("2 passed in 0.12s\n", "1 passed in 0.12s\n", False),
    ],
)
def test_what_counts_as_shown(*, shown: str, printed: str, same: bool) -> None:
    """Output is compared line by line, except for what an ellipsis leaves out."""
    assert shows(shown, printed) is same


def test_commands_are_found() -> None:
    """Each prompt begins a command, which may go on over several lines."""
    block = "$ one \\\n    --two  # a remark\n$ three\nfour\nfive\n"
    assert [*commands_of(block)] == [("one      --two", ""), ("three", "four\nfive\n")]
