"""What the properties are tried on: paths, mountinfo lines, mount trees, tables of mounts."""

from __future__ import annotations

from typing import Final

import attrs
from hypothesis import strategies as st

from devroot._mountinfo import MountInfo
from devroot._mounts import Mount
from devroot._paths import ContainerPath, HostPath

_ODD_NAMES: Final = (
    "...",
    "-",
    " - ",
    "a b",
    "#",
    "\\",
    "\\040",
    "\\x2d",
    "\t",
    "\n",
    "\r",
    "\u2028",
    "\x85",
    "é",
    "\udcff",
    "ro",
)

names: Final = st.sampled_from(_ODD_NAMES) | st.binary(min_size=1, max_size=8).map(
    lambda data: data.decode("utf-8", "surrogateescape")
).filter(lambda name: name not in {".", ".."} and not {"/", "\0"} & set(name))
"""Names that a file can have, above all those that need escapes or look like something else."""


def paths_of(parts: st.SearchStrategy[str], *, most: int = 4) -> st.SearchStrategy[str]:
    """Return absolute, normal paths of these names."""
    return st.lists(parts, max_size=most).map(lambda names: "/" + "/".join(names))


few_paths: Final = paths_of(st.sampled_from("ab"))
"""Paths of two names, so that they lie at and below each other often."""

container_paths: Final = few_paths.map(ContainerPath)
host_paths: Final = few_paths.map(HostPath)

_words: Final = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]), max_size=8
) | st.sampled_from(_ODD_NAMES)
_roots: Final = paths_of(names) | st.sampled_from(
    ["/..", "/../..", "/../../x", "net:[4026531993]", "user:[4026531837]", "/@/sub volume"]
)
_numbers: Final = st.integers(0, 2**31)


@st.composite
def mount_infos(draw: st.DrawFn) -> MountInfo[ContainerPath]:
    """Give any mount that a line can describe."""
    options = st.lists(st.sampled_from(["nosuid", "nodev", "noexec", "relatime"]), unique=True)
    optional = st.sampled_from(["shared:1", "master:22", "propagate_from:3", "unbindable", "new:x"])
    flag = st.sampled_from(["rw", "ro"])
    return MountInfo(
        mount_id=draw(_numbers),
        parent_id=draw(_numbers),
        major=draw(_numbers),
        minor=draw(_numbers),
        root=draw(_roots),
        deleted=draw(st.booleans()),
        mount_point=ContainerPath(draw(paths_of(names))),
        options=(draw(flag), *draw(options)),
        optional_fields=tuple(draw(st.lists(optional, max_size=4))),
        fstype=draw(st.sampled_from(["tmpfs", "overlay", "fuse.a b", "9p"])),
        source=draw(_words),
        # A table of which all lines end in a carriage return is refused.
        super_options=",".join([draw(flag), *draw(st.lists(_words, max_size=3))]).rstrip("\r"),
    )


@attrs.define(eq=False)
class ModelMount:
    """A mount in a `MountModel`.

    Attributes:
        mount_id: its ID.
        parent: the mount that it lies on; itself for rootfs, None if that is out of sight.
        spot: the names that lead there from the root of *parent*.
        point: the path that leads there from the root of the process.
    """

    mount_id: int
    parent: ModelMount | None
    spot: tuple[str, ...]
    point: str

    def line(self) -> bytes:
        """Return how mountinfo lists it."""
        path = ContainerPath(self.point)
        parent_id = 1 if self.parent is None else self.parent.mount_id
        return MountInfo(
            mount_id=self.mount_id,
            parent_id=parent_id,
            major=0,
            minor=self.mount_id,
            root="/",
            mount_point=path,
            fstype="tmpfs",
        ).render()


@attrs.define(eq=False)
class MountModel:
    """What the kernel keeps of mounts: each lies on a spot of another. Slow, and simple.

    Attributes:
        root: where look-ups start.
        hidden_root: whether *root* itself is not listed, for the process's root is not where it
            is mounted.
        mounts: all the others, in the order in which they were made.
    """

    root: ModelMount
    hidden_root: bool = False
    mounts: list[ModelMount] = attrs.field(factory=list[ModelMount])

    def _on_top(self, mount: ModelMount, spot: tuple[str, ...]) -> tuple[ModelMount, bool]:
        """Return what lies on a spot of a mount, and whether anything does."""
        for other in self.mounts:
            if other.parent is mount and other.spot == spot:
                return other, True
        return mount, False

    def _look_up(self, path: str) -> tuple[ModelMount, tuple[str, ...]]:
        mount: ModelMount = self.root
        spot: tuple[str, ...] = ()
        for name in ContainerPath(path).parts[1:]:
            spot = (*spot, name)
            stepped = True
            while stepped:
                mount, stepped = self._on_top(mount, spot)
                if stepped:
                    spot = ()
        return mount, spot

    def covering(self, path: str) -> ModelMount:
        """Return the mount that serves *path*."""
        return self._look_up(path)[0]

    def mount(self, path: str) -> None:
        """Make a mount at *path*, as the system call does."""
        mount, spot = self._look_up(path)
        stepped = True
        while stepped:  # only at "/", where the look-up has not stepped onto what lies there
            mount, stepped = self._on_top(mount, spot)
            if stepped:
                spot = ()
        self.mounts.append(
            ModelMount(mount_id=10 + len(self.mounts), parent=mount, spot=spot, point=path)
        )

    def listed(self) -> list[ModelMount]:
        """Return the mounts that mountinfo lists."""
        return self.mounts if self.hidden_root else [self.root, *self.mounts]


@st.composite
def mount_models(draw: st.DrawFn) -> MountModel:
    """Give mounts that were made one on the other, with the root in all the ways it can be."""
    names_in_use = st.sampled_from(draw(st.lists(names, min_size=2, max_size=2)))
    points = draw(st.lists(paths_of(names_in_use), max_size=12))
    # A root that is no mount point looks like one if all that lies on it is at "/".
    hidden = draw(st.booleans()) and any(point != "/" for point in points)
    root = ModelMount(mount_id=2, parent=None, spot=(), point="/")
    if not hidden and draw(st.booleans()):
        root.parent = root  # as rootfs
    model = MountModel(root, hidden_root=hidden)
    for point in points:
        model.mount(point)
    return model


def paths_in(model: MountModel) -> st.SearchStrategy[str]:
    """Return paths at, above and below the mount points of a model."""
    parts = {name for mount in model.mounts for name in ContainerPath(mount.point).parts[1:]}
    return paths_of(st.sampled_from([*sorted(parts), "other"]), most=5)


@st.composite
def mount_lists(draw: st.DrawFn) -> list[Mount]:
    """Give declared mounts in the order in which they are made; some have no host side."""
    sides = st.tuples(st.none() | few_paths, few_paths)
    return [
        Mount(host=host, container=container)
        for host, container in draw(st.lists(sides, max_size=8))
    ]
