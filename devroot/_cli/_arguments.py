"""The command line: what can be said, and what is wrong with what was said."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from devroot._driver_root import Fallback, RootFallback
from devroot._fallbacks import HostDevFallback, SubsetFallback
from devroot._mounts import Mount
from devroot._paths import ContainerPath, HostPath
from devroot.errors import DevRootError
from devroot.testing import scenario_names

if TYPE_CHECKING:
    from collections.abc import Sequence

_DESCRIPTION = """\
Say where the host's /dev is in this container, and whether a device node that
is made there reaches the host."""

_EPILOG = """\
fallbacks, asked in the order given, if the driver root has no dev directory
that reaches the host; the default is root:
  root                  this container's own /dev
  host-dev[:P]          the host's /dev is mounted at P/dev (P is / by default)
  subset:P:NAME,NAME    of the host's /dev only these names, mounted at P/dev/NAME

exit status:
  0   the reach is accepted: HOST or DECLARED
  3   it is not, or there is no dev root
  2   the arguments are wrong, or what they name cannot be read"""


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
    commands.add_parser(
        "demo",
        help="show a node lost in a private /dev, and the way out; needs no root",
        description="Explain a recorded container twice: with the fallback that fails, and with"
        " the one that reaches the host.",
        allow_abbrev=False,
    )
    arguments = parser.parse_args(argv)
    if arguments.command == "explain" and not (arguments.driver_root or arguments.scenario):
        parser.error("explain needs --driver-root HOST:CONTAINER, or --scenario NAME")
    return arguments


def _add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "explain",
        help="say where the dev root is, why, and whether it reaches the host",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
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
        help="explain a recorded container instead of this one; it brings its own driver root,"
        " mounts and fallback, unless others are given",
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
    for option, what in (
        ("--subsystem", "subsystem"),
        ("--driver", "driver"),
        ("--name", "path below /dev"),
    ):
        parser.add_argument(
            option,
            action="append",
            metavar="PATTERN",
            help=f"only those whose {what} matches; may be given several times",
        )
    parser.add_argument(
        "--vendor",
        type=_vendor,
        metavar="NUMBER",
        help="only those of PCI functions of this vendor, such as 0x15b3",
    )
    parser.add_argument(
        "--fallback",
        type=_fallback,
        action="append",
        metavar="FALLBACK",
        help="which dev root to look in, as for explain (root)",
    )
    _add_view(parser)
    parser.add_argument(
        "--sysfs",
        type=_container_path,
        metavar="DIR",
        default=ContainerPath("/sys"),
        help="where the sysfs to read is (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print a document for programmes")


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


def _wrong(text: str, error: Exception | str) -> argparse.ArgumentTypeError:
    said = str(error)
    return argparse.ArgumentTypeError(said if repr(text) in said else f"{text!r}: {said}")
