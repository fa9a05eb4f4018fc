"""Spec files: complete under their names or not there, readable by the runtime, and on the host."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Final

from devroot._evidence import ACCEPTED
from devroot._log import Event, tell
from devroot._mounts import Mount
from devroot._paths import ContainerPath, HostPath
from devroot._reach import examine
from devroot._view import ROOT, ContainerView
from devroot.cdi._names import file_name
from devroot.cdi._spec import validate
from devroot.errors import InvalidPathError, NotOnHostError

if TYPE_CHECKING:
    from collections.abc import Collection

    from devroot._evidence import Verdict
    from devroot._filesystem import Directory

DYNAMIC_DIRECTORY: Final = ContainerPath("/var/run/cdi")
"""Where runtimes look for specs that plugins write while the machine is up.

.. versionadded:: 0.1.0
"""

STATIC_DIRECTORY: Final = ContainerPath("/etc/cdi")
"""Where runtimes look for specs that stay; one of the same device in the other place wins.

.. versionadded:: 0.1.0
"""

_MODE: Final = 0o644
_EXTENSION: Final = ".json"


def write(
    where: ContainerView | Directory,
    spec: dict[str, Any],
    *,
    name: str | None = None,
    directory: ContainerPath = DYNAMIC_DIRECTORY,
    accept: Collection[Verdict] = ACCEPTED,
) -> str:
    """Write a spec file in one step, with mode 0644 whatever the umask.

    A runtime that looks meanwhile sees the file that was there before or the new one, complete;
    so it is after a crash of this process or of the machine. What is at the name is replaced, a
    link too, without following it. A crash can leave a file behind whose name ends in ``.tmp``,
    which runtimes do not look at.

    Args:
        where: this container's view, or an open directory. With a view it is made sure that the
            host sees the directory: a spec in a container's own ``/var/run/cdi`` is never found.
        spec: what to write; it is validated first.
        name: of the file, ending in ``.json``; `file_name` of its kind by default.
        directory: where to write in a view. It must exist.
        accept: the verdicts on the directory that are good enough.

    Returns:
        The name of the file.

    Raises:
        InvalidSpecError: the spec is not as the specification wants it.
        InvalidPathError: the name is none, or does not end in ``.json``.
        NotOnHostError: the reach of the directory is not accepted.
        OSError: the directory cannot be opened, or the file not written; what was there stays.

    Privileges: leave to write in the directory.

    .. versionadded:: 0.1.0
    """
    import json  # noqa: PLC0415 - not needed to map paths

    validate(spec)
    chosen = _checked(file_name(spec["kind"]) if name is None else name)
    data = (json.dumps(spec, indent=2) + "\n").encode()
    with _opened(where, directory, accept) as target:
        temporary = f".{chosen[:50]}.{os.urandom(8).hex()}.tmp"  # 50 letters have at most 200 bytes
        target.write_file(temporary, data, mode=_MODE)
        try:
            target.rename(temporary, target, chosen, replace=True)
        except BaseException:
            with contextlib.suppress(OSError):
                target.unlink(temporary)
            raise
        tell(Event.SPEC_WRITTEN, spec["kind"], target.path / chosen)
    return chosen


def remove(
    where: ContainerView | Directory,
    name: str,
    *,
    directory: ContainerPath = DYNAMIC_DIRECTORY,
    accept: Collection[Verdict] = ACCEPTED,
) -> bool:
    """Remove a spec file, if it is there.

    Args:
        where: as for `write`.
        name: from `write`, or from `file_name`.
        directory: as for `write`.
        accept: as for `write`.

    Returns:
        Whether there was one.

    Raises:
        InvalidPathError: as from `write`; `NotOnHostError` and `OSError` likewise.

    .. versionadded:: 0.1.0
    """
    checked = _checked(name)
    with _opened(where, directory, accept) as target:
        try:
            target.unlink(checked)
        except FileNotFoundError:
            return False
        tell(Event.SPEC_REMOVED, target.path / checked)
    return True


def _checked(name: str) -> str:
    """Return *name* if runtimes look at a file of that name and take it for JSON."""
    if not name.endswith(_EXTENSION) or name == _EXTENSION:
        reason = f"runtimes take a file for a spec if its name ends in {_EXTENSION}"
        raise InvalidPathError(name, kind="name of a spec file", reason=reason)
    return name


def _opened(
    where: ContainerView | Directory, directory: ContainerPath, accept: Collection[Verdict]
) -> contextlib.AbstractContextManager[Directory]:
    """Return the directory for a ``with`` statement, which closes it if it was opened here."""
    if not isinstance(where, ContainerView):
        return contextlib.nullcontext(where)
    reach = examine(where, directory)
    if reach.verdict not in accept:
        remedy = Mount(host=HostPath(str(directory)), container=directory)
        raise NotOnHostError(directory, reach=reach, remedies=(remedy,))
    return where.filesystem.open_directory(ROOT, str(directory))
