"""Spec files: complete or not there, where the runtime looks, and on the host."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING

import pytest

from devroot import ContainerPath, ContainerView, DeviceNode, LocalFileSystem, Verdict
from devroot.cdi import (
    DYNAMIC_DIRECTORY,
    STATIC_DIRECTORY,
    described,
    device,
    edits,
    remove,
    spec,
    write,
)
from devroot.errors import InvalidPathError, InvalidSpecError, NotOnHostError
from devroot.testing import FakeHost, ProcessKilled, TreeFileSystem, scenario
from tests._views import ROOT_LINE, view_of

if TYPE_CHECKING:
    from pathlib import Path

    from devroot.testing import Operation

SPEC = spec(
    "vendor.com/class",
    [device("x", edits(device_nodes=[described(DeviceNode(path="x", major=235, minor=0))]))],
)
NAME = "vendor.com-class.json"
FOLDER = ContainerPath("/var/run/cdi")
SAW = "13 10 0:24 /cdi /var/run/cdi rw - tmpfs tmpfs rw"


def tree() -> TreeFileSystem:
    """Return a file system with the directory for specs, and an old one of the same name."""
    return TreeFileSystem([f"file {FOLDER}/{NAME} 0600 7:7\nold"])


def view(files: TreeFileSystem, *lines: str) -> ContainerView:
    """Return a view in which the directory is the host's."""
    return view_of(ROOT_LINE, *(lines or [SAW]), mounts=["/var/run/cdi:/var/run/cdi"], files=files)


def test_a_file_of_a_spec() -> None:
    """It has the name of the kind, mode 0644, and the spec as JSON that a person can read."""
    files = tree()
    assert write(view(files), SPEC) == NAME
    data = files.read_bytes(FOLDER, NAME)
    assert json.loads(data) == SPEC
    assert data.endswith(b"}\n")
    with files.open_directory(FOLDER, "/") as directory:
        assert directory.names() == [NAME]
        assert (directory.lstat(NAME).mode, directory.lstat(NAME).uid) == (0o644, 0)


def test_other_places_and_names() -> None:
    """A static spec goes elsewhere, and one of a claim has a name of its own."""
    files = TreeFileSystem(["dir /etc/cdi"])
    where = view_of(
        ROOT_LINE,
        "13 10 8:1 /etc/cdi /etc/cdi rw - ext4 /dev/sda1 rw",
        mounts=["/etc/cdi:/etc/cdi"],
        files=files,
    )
    assert write(where, SPEC, name="claim.json", directory=STATIC_DIRECTORY) == "claim.json"
    assert json.loads(files.read_bytes(STATIC_DIRECTORY, "claim.json")) == SPEC
    assert remove(where, "claim.json", directory=STATIC_DIRECTORY)
    assert DYNAMIC_DIRECTORY == FOLDER


def test_on_the_real_file_system_whatever_the_umask(tmp_path: Path) -> None:
    """Through a handle, and so in any directory; the runtime can read it in any case."""
    with LocalFileSystem().open_directory(ContainerPath(str(tmp_path)), "/") as directory:
        before = os.umask(0o077)
        try:
            write(directory, SPEC)
        finally:
            os.umask(before)
        assert directory.names() == [NAME]
    assert (tmp_path / NAME).stat().st_mode & 0o7777 == 0o644
    assert json.loads((tmp_path / NAME).read_text("utf-8")) == SPEC


def test_a_link_is_replaced_and_not_followed() -> None:
    """What somebody's link points to is not written to."""
    files = TreeFileSystem(["file /victim\nkeep", f"link {FOLDER}/{NAME} /victim"])
    write(view(files), SPEC)
    assert files.read_bytes(FOLDER, NAME) != b"keep"
    assert files.read_bytes(ContainerPath("/"), "victim") == b"keep"


@pytest.mark.parametrize("name", ["x", "x.yaml", ".json", "x.JSON", "x.json.tmp", ""])
def test_a_name_that_runtimes_pass_over(name: str) -> None:
    """A file of another name would never be read."""
    for action in (
        lambda: write(view(tree()), SPEC, name=name),
        lambda: remove(view(tree()), name),
    ):
        with pytest.raises(InvalidPathError, match=r"ends in \.json"):
            action()


@pytest.mark.parametrize("name", ["a/b.json", "../b.json", "/etc/b.json"])
def test_a_name_that_leads_elsewhere(name: str) -> None:
    """A name is no path, and nothing is left behind."""
    files = tree()
    with pytest.raises(InvalidPathError, match="slash"):
        write(view(files), SPEC, name=name)
    assert len(files.listing()) == 4


def test_a_spec_that_runtimes_would_refuse() -> None:
    """It is not written, and the old file stays."""
    files = tree()
    with pytest.raises(InvalidSpecError):
        write(view(files), {**SPEC, "kind": "x"})
    assert files.read_bytes(FOLDER, NAME) == b"old"


@pytest.mark.parametrize(
    "operation", ["write_file", "write_file.data", "write_file.mode", "rename"]
)
def test_a_failure_leaves_the_old_file(operation: str) -> None:
    """If the disk is full, say, the old spec is still there and nothing else is."""
    files = tree()
    files.fail(operation, errno.ENOSPC)
    with pytest.raises(OSError, match="No space"):
        write(view(files), SPEC)
    with files.open_directory(FOLDER, "/") as directory:
        assert directory.names() == [NAME]
    assert files.read_bytes(FOLDER, NAME) == b"old"


def test_a_failure_that_cannot_be_tidied_up() -> None:
    """The first failure is the one that is told."""
    files = tree()
    files.fail("rename", errno.EIO)
    files.fail("unlink", errno.EROFS)
    with pytest.raises(OSError, match="Input/output"):
        write(view(files), SPEC)


@pytest.mark.parametrize(
    "operation", ["write_file", "write_file.data", "write_file.mode", "rename"]
)
def test_killed_between_any_two_steps(operation: str) -> None:
    """The old spec is there, whole; what was left beside it is not taken for a spec."""
    files = tree()
    files.fail(operation, ProcessKilled())
    with pytest.raises(ProcessKilled):
        write(view(files), SPEC)
    files.restart()
    assert files.read_bytes(FOLDER, NAME) == b"old"
    with files.open_directory(FOLDER, "/") as directory:
        assert [name for name in directory.names() if name.endswith((".json", ".yaml"))] == [NAME]
    write(view(files), SPEC)
    assert json.loads(files.read_bytes(FOLDER, NAME)) == SPEC


def test_whoever_looks_meanwhile_sees_a_whole_file() -> None:
    """Before every step the name has the old content, and after the last the new one."""
    files = tree()
    seen: list[bytes] = []

    def look(operation: Operation) -> None:
        if operation.name.startswith(("write_file", "rename")):
            seen.append(files.read_bytes(FOLDER, NAME))

    files.before(look)
    write(view(files), SPEC)
    assert seen == [b"old"] * 4


def test_two_writers_at_once() -> None:
    """Each has a temporary name of its own, and the last one wins."""
    files = tree()
    names: list[str] = []
    files.before(lambda o: names.append(o.path) if o.name == "write_file" else None)
    for _ in range(2):
        write(view(files), SPEC)
    assert len(set(names)) == 2
    assert all(name.endswith(".tmp") for name in names)


@pytest.mark.parametrize(
    "letters",
    ["n" * 250, "é" * 125, "\U0001f9ea" * 62, "\udcff" * 250],
    ids=["one byte", "two bytes", "four bytes", "no text"],
)
def test_the_longest_name(letters: str) -> None:
    """A name as long as names can be, in bytes, is no longer for being written."""
    files = tree()
    name = f"{letters}.json"
    assert write(view(files), SPEC, name=name) == name


def test_remove() -> None:
    """A spec is removed by its name; what is not there is no error."""
    files = tree()
    assert remove(view(files), NAME)
    assert not remove(view(files), NAME)
    with files.open_directory(FOLDER, "/") as directory:
        assert not remove(directory, NAME)
        assert directory.names() == []


def test_a_private_directory_is_refused() -> None:
    """A spec in the container's own /var/run/cdi is one that no runtime ever finds."""
    files = tree()
    private = view_of(ROOT_LINE, mounts=[], files=files)
    for action in (lambda: write(private, SPEC), lambda: remove(private, NAME)):
        with pytest.raises(NotOnHostError, match="mount that would do: /var/run/cdi:/var/run/cdi"):
            action()
    assert files.read_bytes(FOLDER, NAME) == b"old"
    write(private, SPEC, accept=[Verdict.PRIVATE])
    assert json.loads(files.read_bytes(FOLDER, NAME)) == SPEC


def test_a_directory_that_is_not_there() -> None:
    """It is the volume's to make, and an error names it."""
    with pytest.raises(FileNotFoundError) as caught:
        write(view(TreeFileSystem(["dir /var/run"])), SPEC)
    assert caught.value.filename == str(FOLDER)


def test_the_host_has_the_file() -> None:
    """Written in a pod of the fake host, the spec is where the host's runtime looks."""
    scene = scenario("gke")
    write(scene.view, SPEC)
    host = scene.host
    assert isinstance(host, FakeHost)
    assert (
        json.loads(host.view.filesystem.read_bytes(ContainerPath("/"), f"{FOLDER}/{NAME}")) == SPEC
    )
