"""Random trees: every way to resolve a path inside a root agrees with every other."""

from __future__ import annotations

import shlex
import tempfile
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devroot._paths import ContainerPath
from tests import _systems
from tests._oracles import chroot_answers, kernel_answer
from tests._systems import System
from tests._trees import build

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from devroot._filesystem import FileType

pytestmark = pytest.mark.property

# A file is None, a link its target, and a directory what is in it.
Node: TypeAlias = "str | dict[str, Node] | None"

NAMES: Final = st.sampled_from(["a", "b", "c"])
COMPONENTS: Final = st.one_of(NAMES, st.sampled_from(["..", ".", ""]))


@st.composite
def paths(draw: st.DrawFn) -> str:
    """Draw a path of the names that there are, with all that can stand between them."""
    components = draw(st.lists(COMPONENTS, min_size=1, max_size=6))
    return draw(st.sampled_from(["", "/"])) + "/".join(components)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, Node]:
    """Draw what is in a root; every third file is a link."""
    leaves = st.one_of(st.none(), paths().filter(bool), paths().filter(bool))
    below = st.recursive(leaves, partial(st.dictionaries, NAMES, max_size=3), max_leaves=12)
    return draw(st.dictionaries(NAMES, below, min_size=1, max_size=3))


def specs(tree: dict[str, Node], above: str = "") -> Iterator[str]:
    """Yield the lines that describe *tree*."""
    for name, node in tree.items():
        path = f"{above}/{name}"
        if node is None:
            yield f"file {path}"
        elif isinstance(node, str):
            yield f"link {path} {shlex.quote(node)}"
        else:
            yield f"dir {path}"
            yield from specs(node, path)


def outcome(ask: Callable[[], object]) -> tuple[object, object]:
    """Return what *ask* gives, or errno and filename of its error."""
    try:
        return 0, ask()
    except OSError as error:
        return error.errno, error.filename


def answers(system: System, path: str) -> list[tuple[object, object]]:
    """Return all that can be asked of *path*, in words that do not depend on where the root is."""
    filesystem, root = system.filesystem, system.root

    def resolved() -> str:
        return filesystem.resolve(root, path).relative_to(root)

    def opened() -> str:
        with filesystem.open_directory(root, path) as directory:
            return directory.path.relative_to(root)

    def kind() -> FileType:
        return filesystem.status(root, path).type

    def target() -> str:
        return filesystem.read_link(root, path)

    def content() -> bytes:
        return filesystem.read_bytes(root, path)

    found: list[tuple[object, object]] = []
    for ask in (resolved, opened, kind, target, content):
        number, result = outcome(ask)
        if number:
            assert str(result).startswith(str(root))
            result = str(result)[len(str(root)) :]
        found.append((number, result))
    return found


@contextmanager
def systems(*names: str, tree: dict[str, Node]) -> Generator[list[System], None, None]:
    """Give each of the systems *names* with *tree*; those on the real file system share a root."""
    lines = list(specs(tree))
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        build(scratch, lines)
        root = ContainerPath(scratch)
        yield [
            System(_systems.local(name), root)
            if name in _systems.LOCAL
            else stack.enter_context(_systems.opened(name, Path(scratch), lines))
            for name in names
        ]


examples = given(tree=trees(), queries=st.lists(paths(), min_size=1, max_size=8))


@examples
def test_all_agree(tree: dict[str, Node], queries: list[str]) -> None:
    """The walk, plain paths and the tree in memory have one answer, down to the named place."""
    with systems("walk", "portable", _systems.TREE, tree=tree) as (walk, *others):
        for query in queries:
            expected = answers(walk, query)
            for other in others:
                assert answers(other, query) == expected


@examples
def test_openat2_agrees(tree: dict[str, Node], queries: list[str]) -> None:
    """The kernel alone has the answers of the walk."""
    with systems("openat2", "walk", tree=tree) as (openat2, walk):
        for query in queries:
            assert answers(openat2, query) == answers(walk, query)
            number, place = outcome(partial(walk.filesystem.resolve, walk.root, query))
            assert kernel_answer(str(walk.root), query) == (number, "" if number else str(place))


@pytest.mark.kernel
@examples
def test_chroot_agrees(tree: dict[str, Node], queries: list[str]) -> None:
    """A process in the root as its own has the answers of the walk."""
    with systems("walk", tree=tree) as (walk,):
        found = [outcome(partial(walk.filesystem.resolve, walk.root, query)) for query in queries]
        top = str(walk.root)
        expected = [
            (number, "" if number else str(place)[len(top) :] or "/") for number, place in found
        ]
        assert chroot_answers(top, queries) == expected


@settings(max_examples=settings().max_examples // 5)
@examples
def test_faked_os_agrees(tree: dict[str, Node], queries: list[str]) -> None:
    """Plain paths on a faked os have the answers of the walk on the real one."""
    with systems("walk", tree=tree) as (walk,):
        expected = [answers(walk, query) for query in queries]
    with _systems.opened(_systems.FAKED_OS, Path("/"), specs(tree)) as faked:
        assert [answers(faked, query) for query in queries] == expected
