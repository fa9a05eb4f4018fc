"""The options of one mount, as mount(2) takes them and mountinfo shows them."""

from __future__ import annotations

from typing import Final

import attrs


@attrs.frozen(kw_only=True)
class Flags:
    """The options of one mount; others of the same file system have their own.

    Attributes:
        read_only: nothing can be changed through this mount.
        nosuid: set-ID bits have no effect.
        nodev: device nodes cannot be opened.
        noexec: programmes cannot be run.
    """

    read_only: bool = False
    nosuid: bool = False
    nodev: bool = False
    noexec: bool = False

    def __str__(self) -> str:
        words = ["ro" if self.read_only else "rw"]
        words += [name for name in ("nosuid", "nodev", "noexec") if getattr(self, name)]
        return ",".join([*words, "relatime"])


PLAIN: Final = Flags()
