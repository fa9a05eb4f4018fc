"""What is wrong with a spec, or likely to be, as data."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast, final

import attrs

from devroot._filesystem import FileType
from devroot._paths import HostPath
from devroot.cdi._fields import faults, is_bind_mount
from devroot.cdi._host import HostFiles, Unseen
from devroot.cdi._versions import VERSIONS, lowest_version, rank, version_faults
from devroot.errors import InvalidPathError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from devroot._device import DeviceNode
    from devroot._filesystem import FileStatus
    from devroot._mounts import MountTable
    from devroot._view import ContainerView

_NUMBERS: Final = ("type", "major", "minor")
_TYPES: Final = {FileType.CHARACTER: "c", FileType.BLOCK: "b", FileType.FIFO: "p"}
_UNBUFFERED: Final = "u"  # another word for a character device, see mknod(1)


@final
class ProblemCode(enum.Enum):
    """What kind of problem a spec has.

    .. versionadded:: 0.1.0
    """

    INVALID = "invalid"
    """It is not as the specification wants it, and runtimes refuse the whole file."""

    NEWER_VERSION = "newer-version"
    """It claims a higher version than it needs, which shuts out older runtimes."""

    HALF_DESCRIBED = "half-described"
    """A device node has some of type, major and minor: the runtime guesses, or asks the host."""

    NO_MODE = "no-mode"
    """A device node has no ``fileMode``, and the mode of the host's node is not copied."""

    HOST_MISSING = "host-missing"
    """A host path that the runtime will use does not exist."""

    NOT_A_DEVICE = "not-a-device"
    """What is at the host path of a device node is none: a file, a directory or a link."""

    WRONG_NUMBER = "wrong-number"
    """Type or number are not those of the host's node, or of the driver's."""

    PATH_CONFLICT = "path-conflict"
    """A node's path exists on the host while its host path is another one: CRI-O refuses that for
    privileged containers."""

    PRIVATE_PATH = "private-path"
    """A path that the workload will see is the place of the file in the plugin's container."""

    MISSING_NODE = "missing-node"
    """A node that a device needs is not in the spec."""

    HOST_UNKNOWN = "host-unknown"
    """A host path cannot be looked at from here, so nothing is known of it."""


@final
@attrs.frozen(kw_only=True)
class Problem:
    """One problem of a spec.

    Attributes:
        code: its kind.
        location: where in the spec, such as ``devices[0].containerEdits.deviceNodes[2]``; empty
            for the spec as a whole.
        path: the path that it is about; empty if there is none.
        text: what is wrong and what would be right.

    .. versionadded:: 0.1.0
    """

    code: ProblemCode
    location: str
    path: str = ""
    text: str

    def __str__(self) -> str:
        return f"{self.location or 'the spec'}: {self.text}"


def check(
    spec: Mapping[str, Any],
    *,
    view: ContainerView | None = None,
    mounts: MountTable | None = None,
    nodes: Iterable[DeviceNode] = (),
    required: Iterable[DeviceNode] | Mapping[str, Iterable[DeviceNode]] = (),
) -> tuple[Problem, ...]:
    """Return the problems of a spec as the host reads it, in the order of the spec.

    Args:
        spec: with paths of the host; of any origin and form.
        view: with whose files to look at the host, through its mounts: `ContainerView.of_host`
            on the host itself. None to look at nothing.
        mounts: what is mounted from the host in this container, instead of the view's.
        nodes: what the driver says of nodes, for comparison; the spec need not have them.
        required: nodes that the spec has to give, such as from `devroot.nvidia.required_nodes`;
            or those that each device has to give, by its name. Container edits of the spec as a
            whole count for each device. They are compared as well.

    Raises:
        OSError: the files of the view cannot be looked at for want of descriptors or memory.

    .. versionadded:: 0.1.0
    """
    table = mounts if mounts is not None or view is None else view.mounts
    by_device = _by_device(required)
    known = {str(node.path): node for wanted in by_device.values() for node in wanted}
    known.update({str(node.path): node for node in nodes})
    files = None if view is None else HostFiles(view.filesystem, table)
    work = _Check(files=files, mounts=table, known=known)
    return (
        *_form(spec),
        *(problem for where, edits in _all_edits(spec) for problem in work.edits(edits, where)),
        *_missing(spec, by_device),
    )


def _by_device(
    required: Iterable[DeviceNode] | Mapping[str, Iterable[DeviceNode]],
) -> dict[str | None, tuple[DeviceNode, ...]]:
    if isinstance(required, Mapping):
        by_name = cast("Mapping[str, Iterable[DeviceNode]]", required)
        return {name: tuple(nodes) for name, nodes in by_name.items()}
    return {None: tuple(required)}


def _form(spec: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what the specification does not want, and a version that is not needed."""
    found = tuple(faults(spec)) or tuple(version_faults(spec))
    for fault in found:
        yield Problem(code=ProblemCode.INVALID, location=fault.location, text=fault.reason)
    if not found:
        version = spec["cdiVersion"]
        needed = lowest_version(spec)
        if rank(version) > rank(needed):
            takers = VERSIONS[VERSIONS.index(version) - 1]
            text = (
                f"it claims version {version} and needs {needed}; runtimes up to {takers} refuse it"
            )
            yield Problem(code=ProblemCode.NEWER_VERSION, location="cdiVersion", text=text)


def _records(value: object, location: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a list with their locations, and pass over all else."""
    if isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            if isinstance(item, dict):
                yield f"{location}[{index}]", cast("dict[str, Any]", item)


def _devices(spec: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    return _records(spec.get("devices"), "devices")


def _all_edits(spec: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all container edits that have the form of some."""
    for where, holder in (*_devices(spec), ("", spec)):
        edits = holder.get("containerEdits")
        if isinstance(edits, dict):
            location = f"{where}.containerEdits" if where else "containerEdits"
            yield location, cast("dict[str, Any]", edits)


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


def _paths(edits: object) -> set[str]:
    """Return the paths of all device nodes in container edits."""
    nodes = cast("dict[str, Any]", edits).get("deviceNodes") if isinstance(edits, dict) else None
    return {_text(node, "path") for _, node in _records(nodes, "")}


def _missing(
    spec: Mapping[str, Any], by_device: dict[str | None, tuple[DeviceNode, ...]]
) -> Iterator[Problem]:
    common = _paths(spec.get("containerEdits"))
    devices = {
        _text(device, "name"): (where, _paths(device.get("containerEdits")))
        for where, device in _devices(spec)
    }
    for name, nodes in by_device.items():
        if name is None:
            where, given = "", set[str]().union(*(paths for _, paths in devices.values()))
        else:
            where, given = devices.get(name, ("devices", set()))
        for node in nodes:
            if str(node.path) not in given | common:
                whose = "" if name is None else f" for the device {name!r}"
                text = f"the spec gives no {node.path}{whose}, which is needed ({node.summary()})"
                yield Problem(
                    code=ProblemCode.MISSING_NODE, location=where, path=str(node.path), text=text
                )


@attrs.frozen(kw_only=True)
class _Check:
    """What the edits of a spec are held against."""

    files: HostFiles | None
    mounts: MountTable | None
    known: dict[str, DeviceNode]

    def edits(self, edits: dict[str, Any], location: str) -> Iterator[Problem]:
        """Yield the problems of one set of container edits."""
        for where, node in _records(edits.get("deviceNodes"), f"{location}.deviceNodes"):
            if _text(node, "path"):
                yield from self._node(node, where)
        for where, mount in _records(edits.get("mounts"), f"{location}.mounts"):
            yield from self._mount(mount, where)
        for where, hook in _records(edits.get("hooks"), f"{location}.hooks"):
            if _text(hook, "path") and hook.get("hookName") != "startContainer":
                yield from self._exists(hook["path"], where, "the runtime cannot run this hook")

    def _node(self, node: dict[str, Any], where: str) -> Iterator[Problem]:
        path = node["path"]
        given = [name for name in _NUMBERS if name in node and node[name] != ""]
        described = node.get("type") == "p" or (len(given) == len(_NUMBERS) and node["major"])
        if given and not described:
            lacking = [name for name in _NUMBERS if name not in given] or ["major"]
            text = (
                f"it has {', '.join(given)}, and {', '.join(lacking)} is left to the runtime, which"
                " takes 0 or looks at the host; give all three"
            )
            yield self._problem(ProblemCode.HALF_DESCRIBED, where, path, text)
        if "fileMode" not in node:
            text = "without fileMode the runtime chooses a mode; that of the host is not copied"
            yield self._problem(ProblemCode.NO_MODE, where, path, text)
        if path in self.known:
            yield from self._compare(node, where, _number(self.known[path]), "the driver says")
        explicit = _text(node, "hostPath")
        yield from self._on_host(node, where, demanded=bool(explicit) or not described)
        if explicit and explicit != path and self._looked(path)[0] is not None:
            text = (
                f"{path} exists on the host, and the node is {explicit} there; CRI-O refuses that"
                " for privileged containers"
            )
            yield self._problem(ProblemCode.PATH_CONFLICT, where, path, text)
        yield from self._private(path, explicit or path, where)

    def _on_host(self, node: dict[str, Any], where: str, *, demanded: bool) -> Iterator[Problem]:
        """Yield what is wrong with the host's node; not that it is missing, unless *demanded*."""
        source = _text(node, "hostPath") or node["path"]
        status, unseen = self._looked(source)
        if unseen and demanded:
            yield self._problem(ProblemCode.HOST_UNKNOWN, where, source, unseen)
        elif status is None and demanded and self.files is not None:
            text = f"{source} does not exist on the host"
            yield self._problem(ProblemCode.HOST_MISSING, where, source, text)
        elif status is not None and status.type not in _TYPES:
            text = f"{source} on the host is a {status.type.value} and no device node"
            yield self._problem(ProblemCode.NOT_A_DEVICE, where, source, text)
        elif status is not None:
            number = (_TYPES[status.type], status.major, status.minor)
            yield from self._compare(node, where, number, "on the host it is")

    def _compare(
        self, node: dict[str, Any], where: str, number: tuple[str, int, int], whose: str
    ) -> Iterator[Problem]:
        """Yield a problem if a number that the node gives is another one than it should be."""
        found = [node.get(name, right) for name, right in zip(_NUMBERS, number, strict=True)]
        if found[0] == "":
            found[0] = number[0]
        elif found[0] == _UNBUFFERED:
            found[0] = "c"
        if tuple(found) != number and not (number[0] == "p" == found[0]):
            text = (
                f"it is {found[0]} {found[1]}:{found[2]} here, and {whose}"
                f" {number[0]} {number[1]}:{number[2]}"
            )
            yield self._problem(ProblemCode.WRONG_NUMBER, where, node["path"], text)

    def _mount(self, mount: dict[str, Any], where: str) -> Iterator[Problem]:
        source, target = _text(mount, "hostPath"), _text(mount, "containerPath")
        if not source or not is_bind_mount(mount):
            return
        yield from self._exists(source, where, "the runtime cannot mount it")
        if target:
            yield from self._private(target, source, where)

    def _exists(self, path: str, where: str, result: str) -> Iterator[Problem]:
        status, unseen = self._looked(path, follow=True)
        if unseen:
            yield self._problem(ProblemCode.HOST_UNKNOWN, where, path, unseen)
        elif status is None and self.files is not None:
            text = f"{path} does not exist on the host: {result}"
            yield self._problem(ProblemCode.HOST_MISSING, where, path, text)

    def _private(self, seen: str, source: str, where: str) -> Iterator[Problem]:
        """Yield a problem if the workload sees the file where the plugin's container has it."""
        if self.mounts is None or seen == source:
            return
        try:
            places = map(str, self.mounts.to_container_all(HostPath(source)))
        except InvalidPathError:
            return
        if seen in places and not seen.startswith("/dev/"):
            text = (
                f"{seen} is where the plugin's container has {source} of the host, and means"
                " nothing in a workload; to_host(strip=...) takes such a directory away"
            )
            yield self._problem(ProblemCode.PRIVATE_PATH, where, seen, text)

    def _looked(self, path: str, *, follow: bool = False) -> tuple[FileStatus | None, str]:
        """Return what is at a host path, and why that cannot be told if it cannot."""
        if self.files is None:
            return None, ""
        try:
            return self.files.status(HostPath(path), follow_last=follow), ""
        except (Unseen, InvalidPathError) as error:
            return None, str(error)

    @staticmethod
    def _problem(code: ProblemCode, where: str, path: str, text: str) -> Problem:
        return Problem(code=code, location=where, path=path, text=text)


def _number(node: DeviceNode) -> tuple[str, int, int]:
    return node.type, node.major, node.minor
