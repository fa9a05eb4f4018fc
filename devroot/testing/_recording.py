"""What is written down of a scenario."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class Recording:
    """A container and its host as texts.

    Attributes:
        title: what it is, in a few words.
        driver_root_host: where the driver is on the host.
        driver_root_container: where the container sees it.
        fallback: a fallback that fits, as ``python -m devroot explain --fallback`` takes it.
        mounts: what the pod asks for, as ``HOST:CONTAINER[:ro]``.
        files: what the container sees, its ``/proc`` included, as lines of a `TreeFileSystem`.
        host_mountinfo: the mount table of the host at the same moment.
    """

    title: str
    driver_root_host: str
    driver_root_container: str
    fallback: str
    mounts: tuple[str, ...]
    files: tuple[str, ...]
    host_mountinfo: str
