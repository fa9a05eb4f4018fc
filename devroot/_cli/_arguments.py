"""The command line: what can be said, and what is wrong with what was said."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from devroot._device import MINOR_MAX
from devroot._driver_root import Fallback, RootFallback
from devroot._evidence import ACCEPTED, BEST_FIRST, Verdict
from devroot._fallbacks import HostDevFallback, SubsetFallback
from devroot._mknod import _jobs
from devroot._mounts import Mount
from devroot._paths import ContainerPath, HostPath
from devroot.errors import DevRootError
from devroot.testing import scenario_names

if TYPE_CHECKING:
    from collections.abc import Sequence

_DESCRIPTION = """\
Say where the host's /dev is in this container, and whether a device node that
is made there reaches the host."""

_MKNOD_DESCRIPTION = """\
Make device nodes of the NVIDIA driver in the dev root, exactly as the driver
describes them, and nodes of devices that the kernel lists in sysfs, where they
are missing or have another number. What is right already is left alone. Nothing
is made where the host would not see it."""

_FALLBACKS = """\
fallbacks, asked in the order given, if the driver root has no dev directory
that reaches the host; the default is root:
  root                  this container's own /dev
  host-dev[:P]          the host's /dev is mounted at P/dev (P is / by default)
  subset:P:NAME,NAME    of the host's /dev only these names, mounted at P/dev/NAME"""

_EXPLAIN_STATUS = """\
exit status:
  0   the reach is accepted: HOST or DECLARED
  3   it is not, or there is no dev root
  2   the arguments are wrong, or what they name cannot be read"""

_MKNOD_STATUS = """\
exit status:
  0   every node is as described, or was left as it was asked to be
  1   some are not; the report says which, and why
  3   the reach is not accepted, or there is no dev root: nothing was made
  2   the arguments are wrong, or what they name cannot be read"""

ALL: Final = "all"
"""What stands for the IMEX channels that the driver has."""

_TO_MAKE = ("control", "gpus", "capability", "imex_channels")
_FILTERS = ("subsystem", "driver", "vendor", "name")


def parse(argv: Sequence[str] | None, *, version: str) -> argparse.Namespace:
    """Return the arguments; prints help, or what is wrong, and exits where that is due."""
    parser = argparse.ArgumentParser(
        prog="python -m devroot",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"devroot {version}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_explain(commands)
    _add_devices(commands)
    _add_mknod(commands)
    commands.add_parser(
        "demo",
        help="show a node lost in a private /dev, and the way out; needs no root",
        description="Explain a recorded container twice: with the fallback that fails, and with"
        " the one that reaches the host.",
        allow_abbrev=False,
    )
    arguments = parser.parse_args(argv)
    of_driver = arguments.command == "explain"
    if arguments.command == "mknod":
        of_driver = asks_driver(arguments)
        if not (of_driver or has_filters(arguments)):
            parser.error(
                "mknod needs --control, --gpus, --capability NAME, --imex-channels RANGE,"
                " --subsystem PATTERN, --driver PATTERN, --name PATTERN or --vendor NUMBER"
            )
        if not (of_driver or arguments.driver_root or arguments.scenario):
            arguments.driver_root = (HostPath("/"), ContainerPath("/"))  # that of the kernel's own
    if of_driver and not (arguments.driver_root or arguments.scenario):
        what = "needs --driver-root HOST:CONTAINER, or --scenario NAME"
        parser.error(f"{arguments.command} {what}")
    return arguments


def asks_driver(arguments: argparse.Namespace) -> bool:
    """Whether nodes of the NVIDIA driver are to be made."""
    return any(getattr(arguments, name) for name in _TO_MAKE)


def has_filters(arguments: argparse.Namespace) -> bool:
    """Whether anything says which devices of the kernel are meant."""
    return any(getattr(arguments, name) is not None for name in _FILTERS)


def _add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "explain",
        help="say where the dev root is, why, and whether it reaches the host",
        description=_DESCRIPTION,
        epilog=f"{_FALLBACKS}\n\n{_EXPLAIN_STATUS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_driver_root(parser)
    parser.add_argument(
        "--nodes",
        action="store_true",
        help="say also which nodes of the NVIDIA driver and of the kernel the dev root lacks",
    )
    parser.add_argument("--json", action="store_true", help="print a document for programmes")


def _add_mknod(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "mknod",
        help="make device nodes of the NVIDIA driver and of the kernel where the host sees them",
        description=_MKNOD_DESCRIPTION,
        epilog=f"{_FALLBACKS}\n\n{_MKNOD_STATUS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--control",
        action="store_true",
        help="make nvidiactl, nvidia-modeset, nvidia-uvm and nvidia-uvm-tools",
    )
    parser.add_argument("--gpus", action="store_true", help="make the node of every GPU")
    parser.add_argument(
        "--capability",
        action="append",
        metavar="NAME",
        help="make the node of a capability, such as fabric-imex-mgmt or mig/config; may be given"
        " several times",
    )
    parser.add_argument(
        "--imex-channels",
        type=_channels,
        metavar="RANGE",
        help="make the nodes of IMEX channels, such as 0-2047 or 0,4-7; all for those that the"
        " driver has",
    )
    _add_filters(parser, "make the nodes of those devices of the kernel")
    _add_driver_root(parser)
    parser.add_argument(
        "--accept",
        type=_verdicts,
        default=ACCEPTED,
        metavar="VERDICT,VERDICT",
        help="which verdicts of the reach are good enough (host,declared)",
    )
    parser.add_argument(
        "--on-conflict",
        choices=_jobs.ON_CONFLICT,
        default="repair",
        help="what to do with something else at a name (%(default)s)",
    )
    parser.add_argument(
        "--touch-withheld",
        action="store_true",
        help="make and change also nodes of which the driver says that nobody else should",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="change nothing, and say what would be done"
    )
    parser.add_argument("--json", action="store_true", help="print a document for programmes")


def _add_devices(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "devices",
        help="list the device nodes that the kernel has, with host and container paths",
        description="List the device nodes that the kernel has, as sysfs knows them, and where"
        " this container and the host have them. The nodes of NVIDIA's driver are not among them:"
        " it does not register them.",
        allow_abbrev=False,
    )
    _add_filters(parser, "only those")
    parser.add_argument(
        "--fallback",
        type=_fallback,
        action="append",
        metavar="FALLBACK",
        help="which dev root to look in, as for explain (root)",
    )
    _add_view(parser)
    parser.add_argument("--json", action="store_true", help="print a document for programmes")


def _add_filters(parser: argparse.ArgumentParser, which: str) -> None:
    """Add what says which devices of the kernel are meant, and where to read of them."""
    for option, what in (
        ("--subsystem", "subsystem"),
        ("--driver", "driver"),
        ("--name", "path below /dev"),
    ):
        parser.add_argument(
            option,
            action="append",
            metavar="PATTERN",
            help=f"{which} whose {what} matches; may be given several times",
        )
    parser.add_argument(
        "--vendor",
        type=_vendor,
        metavar="NUMBER",
        help=f"{which} of PCI functions of this vendor, such as 0x15b3",
    )
    parser.add_argument(
        "--sysfs",
        type=_container_path,
        metavar="DIR",
        default=ContainerPath("/sys"),
        help="where the sysfs to read is (%(default)s)",
    )


def _add_driver_root(parser: argparse.ArgumentParser) -> None:
    """Add what says which container it is about, and where to look for a dev root."""
    parser.add_argument(
        "--driver-root",
        type=_driver_root,
        metavar="HOST:CONTAINER",
        help="where the driver is on the host, and where this container sees it",
    )
    parser.add_argument(
        "--fallback",
        type=_fallback,
        action="append",
        metavar="FALLBACK",
        help="what to ask next; may be given several times, see below",
    )
    _add_view(parser)
    parser.add_argument(
        "--scenario",
        choices=scenario_names(),
        help="take a recorded container instead of this one; it brings its own driver root,"
        " mounts and fallback, unless others are given",
    )


def _add_view(parser: argparse.ArgumentParser) -> None:
    """Add what says how this container's mounts are known."""
    parser.add_argument(
        "--mount",
        type=_mount,
        action="append",
        metavar="HOST:CONTAINER[:ro]",
        help="a mount of this container; if any is given, these are all",
    )
    parser.add_argument(
        "--host-mountinfo",
        type=_container_path,
        metavar="FILE",
        help="the host's mount table, such as /proc/1/mountinfo with hostPID",
    )
    parser.add_argument(
        "--proc",
        type=_container_path,
        metavar="DIR",
        default=ContainerPath("/proc"),
        help="where the procfs to read is (%(default)s)",
    )


def parse_fallback(text: str) -> Fallback:
    """Return the fallback that *text* describes.

    Raises:
        DevRootError: a path or name in it is not possible.
        ValueError: it is of none of the forms.
    """
    kind, *rest = text.split(":", 2)
    if kind == "root" and not rest:
        return RootFallback()
    if kind == "host-dev" and len(rest) < 2:  # noqa: PLR2004 - P and nothing more
        return HostDevFallback(*rest)
    if kind == "subset" and len(rest) == 2:  # noqa: PLR2004 - P and names
        return SubsetFallback(rest[0], rest[1].split(","))
    message = "write root, host-dev, host-dev:P or subset:P:NAME,NAME"
    raise ValueError(message)


def _fallback(text: str) -> tuple[str, Fallback]:
    try:
        return text, parse_fallback(text)
    except (DevRootError, ValueError) as error:
        raise _wrong(text, error) from error


def _driver_root(text: str) -> tuple[HostPath, ContainerPath]:
    try:
        host, container = text.split(":")
    except ValueError as error:
        raise _wrong(text, "write HOST:CONTAINER") from error
    try:
        return HostPath(host), ContainerPath(container)
    except DevRootError as error:
        raise _wrong(text, error) from error


def _mount(text: str) -> Mount:
    try:
        return Mount.parse(text)
    except DevRootError as error:
        raise _wrong(text, error) from error


def _container_path(text: str) -> ContainerPath:
    try:
        return ContainerPath(text)
    except DevRootError as error:
        raise _wrong(text, error) from error


def _vendor(text: str) -> int:
    try:
        return int(text, 16 if text[:2] in {"0x", "0X"} else 10)
    except ValueError as error:
        raise _wrong(text, "write a number such as 0x15b3") from error


def _channels(text: str) -> str | tuple[range, ...]:
    if text == ALL:
        return ALL
    try:
        return tuple(map(_range, text.split(",")))
    except ValueError as error:
        what = f"write all, or numbers and ranges up to {MINOR_MAX}, such as 0-2047 or 0,4-7"
        raise _wrong(text, what) from error


def _range(text: str) -> range:
    first, dash, last = text.partition("-")
    for number in (first, last) if dash else (first,):
        if not (number.isascii() and number.isdigit()):
            raise ValueError(number)
    found = range(int(first), int(last if dash else first) + 1)
    if not found or found[-1] > MINOR_MAX:
        raise ValueError(text)
    return found


def _verdicts(text: str) -> frozenset[Verdict]:
    try:
        return frozenset(map(Verdict, text.split(",")))
    except ValueError as error:
        known = ", ".join(verdict.value for verdict in BEST_FIRST)
        raise _wrong(text, f"write verdicts with commas between: {known}") from error


def _wrong(text: str, error: Exception | str) -> argparse.ArgumentTypeError:
    said = str(error)
    return argparse.ArgumentTypeError(said if repr(text) in said else f"{text!r}: {said}")
