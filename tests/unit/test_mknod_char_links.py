"""Links to device nodes by their number."""

from __future__ import annotations

import errno

import pytest

from devroot import Action, DevicePath, InvalidNodeError, Step
from devroot._mknod._char_links import LinkNodes, char_links
from devroot._mknod._places import Places
from devroot._mknod._plan import make_plan
from tests._nodes import dev_root_of, failure, files_of, listing, node, results

NVIDIA = "char nvidia0 195:0 0600 5:6"


def test_links_are_made_by_number() -> None:
    """Each node has a relative link by type and number; the directories are made."""
    dev_root = dev_root_of(NVIDIA, "block sda 8:1", "char caps/one 240:4323")
    nodes = [node(), node("sda", 8, 1, type="b"), node("caps/one", 240, 4323)]

    report = char_links(dev_root, nodes)

    assert [line for line in listing(dev_root) if line.startswith(("link", "dir"))] == [
        "dir block 0755",
        "link block/8:1 ../sda",
        "dir caps 0755",
        "dir char 0755",
        "link char/195:0 ../nvidia0",
        "link char/240:4323 ../caps/one",
    ]
    assert report.created == tuple(nodes)
    assert [str(outcome.path) for outcome in report.outcomes] == [
        "/dev/char/195:0",
        "/dev/block/8:1",
        "/dev/char/240:4323",
    ]


@pytest.mark.parametrize(
    "target", ["../nvidia0", "/dev/nvidia0", "../../dev/nvidia0", ".././//nvidia0", "../alias"]
)
def test_a_right_link_is_kept_however_it_is_spelled(target: str) -> None:
    """A link that leads to the device is right; it is not made anew on every run."""
    dev_root = dev_root_of(NVIDIA, "link alias nvidia0", f"link char/195:0 {target}")
    before = listing(dev_root)

    assert char_links(dev_root, [node()]).unchanged == (node(),)
    assert listing(dev_root) == before


@pytest.mark.parametrize("target", ["../nowhere", "/nvidia0", "../nvidia1", "195:0", "../sda"])
def test_a_wrong_or_dangling_link_is_replaced(target: str) -> None:
    """A link that leads nowhere, to itself or to another device is replaced in one step."""
    dev_root = dev_root_of(
        NVIDIA, "char nvidia1 195:1", "block sda 195:0", f"link char/195:0 {target}"
    )

    report = char_links(dev_root, [node()])

    assert report.repaired == (node(),)
    assert report.outcomes[0].differences == ("target",)
    assert "link char/195:0 ../nvidia0" in listing(dev_root)


@pytest.mark.parametrize("there", ["file char/195:0", "dir char/195:0", "char char/195:0 1:3"])
def test_only_links_are_replaced(there: str) -> None:
    """A file or a directory at the name is a conflict, and is not deleted."""
    dev_root = dev_root_of(NVIDIA, there)
    before = listing(dev_root)

    error = failure(lambda: char_links(dev_root, [node()]))

    assert error.errno == errno.EEXIST
    assert "only a link is replaced" in error.reason
    assert listing(dev_root) == before


def test_a_step_says_what_is_to_be_done_about_a_link_and_why() -> None:
    """It has the link's path, in what it differs, what is there, and what to do about it."""
    dev_root = dev_root_of(
        *(f"char nvidia{n} 195:{n}" for n in range(3)),
        "link char/195:0 ../nvidia0",
        "link char/195:1 ../nowhere",
        "fifo char/195:2",
    )
    nodes = [node(f"nvidia{n}", 195, n) for n in range(3)]

    with Places(dev_root.open_dev) as places:
        steps = make_plan(dev_root, nodes, LinkNodes(dev_root), places).steps

    char = files_of(dev_root).open_directory(dev_root.container, "/dev/char")
    assert steps == (
        Step(
            node=nodes[0],
            path=DevicePath("char/195:0"),
            action=Action.KEEP,
            found=char.lstat("195:0"),
        ),
        Step(
            node=nodes[1],
            path=DevicePath("char/195:1"),
            action=Action.REPAIR,
            differences=("target",),
            reason="the link there leads elsewhere, or nowhere",
            found=char.lstat("195:1"),
        ),
        Step(
            node=nodes[2],
            path=DevicePath("char/195:2"),
            action=Action.CONFLICT,
            differences=("type",),
            reason="a fifo is there, and only a link is replaced; remove it first",
            errno=errno.EEXIST,
            found=char.lstat("195:2"),
        ),
    )


def test_the_device_itself_is_as_good_as_a_link() -> None:
    """A node of that type and number at the name is what a link would lead to."""
    dev_root = dev_root_of(NVIDIA, "char char/195:0 195:0")

    assert results(char_links(dev_root, [node()])) == ["unchanged"]


@pytest.mark.parametrize("there", [(), ("char nvidia0 195:9",), ("file nvidia0",)])
def test_no_link_leads_to_a_node_that_is_not_there(there: tuple[str, ...]) -> None:
    """A missing or wrong node gets no link; the other nodes do."""
    dev_root = dev_root_of(*there, "char nvidia1 195:1")

    error = failure(lambda: char_links(dev_root, [node(), node("nvidia1", minor=1)]))

    assert (error.errno, error.filename) == (errno.ENOENT, "/host-dev/dev/char/195:0")
    assert "make it first" in error.reason
    assert results(error.report) == ["failed", "created"]


def test_two_nodes_of_one_number_are_refused() -> None:
    """There is one link for each number, so two nodes cannot have it."""
    with pytest.raises(InvalidNodeError, match="/dev/char/195:0"):
        char_links(dev_root_of(), [node(), node("other")])


def test_a_subset_needs_the_directories_of_links() -> None:
    """Where /dev/char is not part of the subset, no link is made in something else."""
    dev_root = dev_root_of(NVIDIA, names=["nvidia0"])

    assert "outside the subset" in failure(lambda: char_links(dev_root, [node()])).reason


def test_a_link_that_cannot_be_made() -> None:
    """A link that cannot be made is told as such."""
    dev_root = dev_root_of(NVIDIA)
    files_of(dev_root).fail("make_symlink", errno.ENOSPC, times=9)

    error = failure(lambda: char_links(dev_root, [node()]))

    assert error.reason.startswith("cannot make the link: the file system is full")


def test_a_dry_run_links_nothing() -> None:
    """A dry run says what would be linked; its plan says what it is for."""
    dev_root = dev_root_of(NVIDIA)

    assert char_links(dev_root, [node()], dry_run=True).created == (node(),)
    assert not [line for line in listing(dev_root) if line.startswith("link")]
    with Places(dev_root.open_dev) as places:
        planned = make_plan(dev_root, [node()], LinkNodes(dev_root), places)
    assert planned.to_dict()["job"] == "char_links"
