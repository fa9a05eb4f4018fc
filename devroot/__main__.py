"""``python -m devroot``: the answers of the library at a shell."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Final

from devroot import __version__
from devroot._cli._arguments import parse
from devroot._cli._commands import run_demo, run_explain
from devroot._cli._devices import run_devices
from devroot._cli._making import run_mknod
from devroot.errors import DevRootError

if TYPE_CHECKING:
    from collections.abc import Sequence

_WRONG: Final = 2
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")  # all but the end of a line
_NOBODY_READS: Final = 141  # as if by SIGPIPE, which is what others do then


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that *argv* holds (by default that of the process).

    Returns:
        The exit status: 0 if the reach is accepted, 3 if it is not, 2 if what the arguments
        name cannot be read, 1 if device nodes could not be made.

    Raises:
        SystemExit: with 2 if the arguments are wrong, with 0 after ``--help`` and ``--version``.
    """
    arguments = parse(argv, version=__version__)
    try:
        if arguments.command == "demo":
            status, text = run_demo()
        elif arguments.command == "devices":
            status, text = run_devices(arguments, version=__version__)
        elif arguments.command == "mknod":
            status, text = run_mknod(arguments, version=__version__)
        else:
            status, text = run_explain(arguments, version=__version__)
    except (DevRootError, OSError) as error:
        print(f"devroot: {_printable(str(error))}", file=sys.stderr)  # noqa: T201 - a programme
        return _WRONG
    try:
        print(_printable(text), end="", flush=True)  # noqa: T201 - a programme
    except BrokenPipeError:
        # What is still in the buffer would raise once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _NOBODY_READS
    return status


def _printable(text: str) -> str:
    r"""Return *text* with bytes that are not UTF-8, and control characters, shown as ``\xff``.

    A name in it can be anybody's choice, and could control the terminal otherwise.
    """
    shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", shown)


if __name__ == "__main__":
    sys.exit(main())
