"""Device nodes as a CDI spec has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devroot.errors import InvalidNodeError, InvalidSpecError

if TYPE_CHECKING:
    from devroot._dev_root import DevRoot
    from devroot._device import DeviceNode


def device_node(dev_root: DevRoot, node: DeviceNode, *, permissions: str = "rw") -> dict[str, Any]:
    """Return a node that is on the host, for ``deviceNodes`` of container edits.

    It is always complete. A runtime takes a missing ``minor`` for 0, does not copy the mode of
    the host's node, and gives a node without an owner to the workload's user.

    Args:
        dev_root: where the node is, and so where the host sees it.
        node: what it is. It need not exist yet, but should before a workload asks for it.
        permissions: what the device cgroup lets the workload do: ``r`` to read, ``w`` to write,
            ``m`` to make nodes with that number.

    Returns:
        ``path`` (as the workload sees it), ``hostPath``, ``type``, ``major`` and ``minor``
        (decimal), ``fileMode`` (permission bits as a decimal number: 0666 is 438), ``permissions``,
        ``uid`` and ``gid``.

    Raises:
        NotOnHostError: the reach of the node's place is not accepted, so there is no host path
            to give to a runtime; `described` does without one.
        OutsideSubsetError: the dev root does not show it.
        InvalidNodeError: its major is 0, as from `described`.
        InvalidSpecError: *permissions* are none.
        OSError: as from `DevRoot.reach`.

    .. versionadded:: 0.1.0
    """
    complete = described(node, permissions=permissions)
    path = complete.pop("path")
    return {"path": path, "hostPath": str(dev_root.host_path(node.path)), **complete}


def described(node: DeviceNode, *, permissions: str = "rw") -> dict[str, Any]:
    """Return a node by its numbers alone, so that the host need not have it.

    The runtime makes it in the workload. That is the way out where the dev root does not reach
    the host, and it costs this: nothing but a workload that is given the device ever has it.

    Args:
        node: what it is.
        permissions: as for `device_node`.

    Returns:
        As from `device_node`, without ``hostPath``.

    Raises:
        InvalidNodeError: its major is 0, which a runtime takes for a number that was not given.
        InvalidSpecError: *permissions* are none.

    .. versionadded:: 0.1.0
    """
    if not node.major:
        field = "major"
        reason = "a runtime takes 0 in a CDI spec for a number that was not given"
        raise InvalidNodeError(field, node.major, reason=reason)
    if not permissions or permissions.strip("rwm"):
        location = "permissions"
        raise InvalidSpecError(location, permissions, reason="they consist of 'r', 'w' and 'm'")
    return {
        "path": str(node.path),
        "type": node.type,
        "major": node.major,
        "minor": node.minor,
        "fileMode": node.mode,
        "permissions": permissions,
        "uid": node.uid,
        "gid": node.gid,
    }
