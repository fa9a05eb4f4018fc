"""Trees of files on the file system at hand, real or faked, from the lines of the testing kit."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from devroot._filesystem import FileType
from devroot.testing import _specs

if TYPE_CHECKING:
    from collections.abc import Iterable

_MADE_BY_MKNOD = {
    FileType.CHARACTER: stat.S_IFCHR,
    FileType.BLOCK: stat.S_IFBLK,
    FileType.FIFO: stat.S_IFIFO,
    FileType.SOCKET: stat.S_IFSOCK,
}


def build(base: str, specs: Iterable[str]) -> None:
    """Make below the directory *base* what *specs* describe, and the directories above each."""
    for text in specs:
        spec = _specs.parse(text)
        path = f"{base}/{spec.path.strip('/')}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if spec.type is None:
            os.link(f"{base}/{spec.target.strip('/')}", path, follow_symlinks=False)
        elif spec.type is FileType.SYMLINK:
            os.symlink(spec.target, path)
        else:
            if spec.type is FileType.DIRECTORY:
                os.makedirs(path, exist_ok=True)
            elif spec.type is FileType.REGULAR:
                with open(path, "xb") as file:
                    file.write(spec.content)
            else:
                device = os.makedev(spec.major, spec.minor)
                os.mknod(path, _MADE_BY_MKNOD[spec.type] | 0o600, device)
            os.chmod(path, spec.mode)
            if spec.uid or spec.gid:
                os.chown(path, spec.uid, spec.gid)
