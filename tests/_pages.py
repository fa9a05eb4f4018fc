"""The pages for people: the blocks in them, and how each kind of page is run.

A page with Python in it is of one kind:

- a programme: its blocks, joined in their order. It prints exactly what the comments beside and
  below its ``print()`` say. ``...`` stands for the rest of a line, or alone for any lines.
- tests: a file for pytest, joined likewise.
- a walk: each block is a file, whose name stands in its first line (``# plugin.py``), and the
  commands between the blocks are run among those files.
"""

from __future__ import annotations

import ast
import io
import logging
import os
import re
import subprocess
import sys
import textwrap
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

import devroot
from devroot.testing import scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

TOP: Final = Path(__file__).parent.parent
PLUGIN: Final = "devroot.testing.pytest_plugin"
_BLOCK: Final = re.compile(r"^( *)```(\S*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_FILE: Final = re.compile(r"# (\w+\.py)\n")
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
_HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)
_ENVIRONMENT: Final = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR")
_SECONDS: Final = re.compile(r"\\ in\\ \d+\\\.\d+s")


@attrs.frozen
class Page:
    """A Markdown file of the project, by its path from the top."""

    name: str

    @property
    def text(self) -> str:
        """What is in it."""
        return (TOP / self.name).read_text(encoding="utf-8")

    def fences(self) -> list[tuple[str, str]]:
        """Return its fenced blocks in their order, each with its language."""
        found = _BLOCK.findall(self.text)
        return [(language, textwrap.dedent(text)) for _, language, text in found]

    def blocks(self, language: str) -> list[str]:
        """Return its fenced blocks in that language."""
        return [text for found, text in self.fences() if found == language]

    def links(self) -> list[str]:
        """Return where its links lead, those to other sites aside."""
        prose = _BLOCK.sub("", self.text)
        return [target for target in _LINK.findall(prose) if ":" not in target]

    def anchors(self) -> set[str]:
        """Return the names of its headings in links, as code hosts make them."""
        headings = _HEADING.findall(_BLOCK.sub("", self.text))
        return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}

    def is_walk(self) -> bool:
        """Whether its blocks are files, and its commands are run among them."""
        return any(map(_FILE.match, self.blocks("python")))

    def is_tests(self) -> bool:
        """Whether it is a file for pytest."""
        return not self.is_walk() and any("def test_" in text for text in self.blocks("python"))

    def commands(self) -> Iterator[tuple[str, str]]:
        """Yield each command that it shows, with the output below it."""
        for block in self.blocks("console"):
            yield from commands_of(block)

    def __str__(self) -> str:
        return self.name


def all_pages() -> list[Page]:
    """Return every page: those at the top, and those in ``docs``."""
    paths = [*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md")]
    return [Page(str(path.relative_to(TOP))) for path in sorted(paths)]


def commands_of(block: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block, on one line, with the output below it."""
    for part in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command.partition("  # ")[0].strip(), output


def shows(shown: str, printed: str) -> bool:
    """Whether a page shows what is printed; ``...`` stands for what it leaves out.

    How long pytest took is not compared.
    """
    patterns: list[str] = []
    for line in shown.splitlines(keepends=True):
        if line.strip() == "...":
            patterns.append(".*?")
        elif line.endswith("...\n"):
            patterns.append(re.escape(line.removesuffix("...\n")) + "[^\n]*\n")
        else:
            patterns.append(_SECONDS.sub(r" in [0-9.]+s", re.escape(line)))
    return re.fullmatch("".join(patterns), printed, re.DOTALL) is not None


def promised(programme: str) -> str:
    """Return what a programme is to print: the comments beside and below what prints."""
    tree = ast.parse(programme)
    beside = {one.end_lineno for one in _prints(tree)}
    below = {statement.end_lineno for statement in tree.body if [*_prints(statement)]}
    found: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(programme).readline):
        if token.type != tokenize.COMMENT:
            continue
        row, alone = token.start[0], not token.line[: token.start[1]].strip()
        if alone and row - 1 in below and token.start[1] == 0:
            below.add(row)  # and the next line, if that is a comment too
        elif alone or row not in beside:
            continue
        found.append(token.string.removeprefix("#").removeprefix(" ") + "\n")
    return "".join(found)


def _prints(tree: ast.AST) -> Iterator[ast.Expr]:
    """Yield the statements that print."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
                yield node
            case _:
                pass


def run_programme(page: Page, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run a page's programme in a recorded container; return the names that it leaves.

    The container is one of the scenario ``gke`` with the host's processes, so that what
    ``ContainerView.of_process()`` sees, and what is made there, is the same on every machine.
    """
    scene = scenario("gke")
    files = scene.host.container(mounts=scene.mounts, host_pid=True).filesystem
    monkeypatch.setattr("devroot._view.LocalFileSystem", lambda: files)
    names: dict[str, Any] = {"__name__": "page"}
    logger = logging.getLogger("devroot")
    level, handlers = logger.level, [*logger.handlers]
    try:
        exec(compile("\n".join(page.blocks("python")), page.name, "exec"), names)
    finally:
        logger.setLevel(level)
        logger.handlers[:] = handlers
    return names


def walk(page: Page, directory: Path, *, as_root: bool) -> Iterator[tuple[str, str, str]]:
    """Do in *directory* what a page says; yield each command, what it shows, what it prints.

    Args:
        page: it is a walk.
        directory: where its files go, which is empty.
        as_root: whether commands that begin with ``sudo`` are run.
    """
    for language, text in page.fences():
        if language == "python":
            _write(directory, text)
        for command, shown in commands_of(text) if language == "console" else ():
            words = command.split()
            if words[0] == "sudo" and as_root:
                words = [sys.executable, *words[2:]]
            if words[0] in {"pytest", "python", sys.executable}:
                yield command, shown, _printed(words, directory)


def _write(directory: Path, text: str) -> None:
    found = _FILE.match(text)
    assert found, f"this block does not say which file it is:\n{text}"
    (directory / found[1]).write_text(text, encoding="utf-8")


def _printed(words: list[str], directory: Path) -> str:
    """Return what a command prints, with the devroot that is tested here."""
    # A reader's environment, and no other: CI, colours and coverage change what is printed.
    env = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    env["PYTHONPATH"] = str(Path(devroot.__file__).parent.parent)
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    env["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env["COLUMNS"] = "80"
    if words[0] == "pytest":
        env["PYTEST_ADDOPTS"] = f"-p no:cacheprovider{plugin_option()}"
    done = subprocess.run(
        words, cwd=directory, env=env, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def plugin_option() -> str:
    """Return how a pytest of its own finds the fixtures: an installed devroot brings them."""
    return "" if _is_installed() else f" -p {PLUGIN}"


def _is_installed() -> bool:
    from importlib.metadata import entry_points  # noqa: PLC0415

    return any(point.value == PLUGIN for point in entry_points(group="pytest11"))
