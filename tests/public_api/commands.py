"""The command line as part of the public API: its commands and their options."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final, NoReturn, cast
from unittest import mock

from devroot._cli import _arguments

if TYPE_CHECKING:
    from devroot import Verdict

PROGRAMME: Final = "python -m devroot"


def commands() -> dict[str, str]:
    """Return each command and option, such as ``python -m devroot explain --json``."""
    return dict(sorted(_described(PROGRAMME, _parser()).items()))


class _ParserFound(BaseException):
    """Carries the parser to who looks for it."""


def _parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, at the moment when it would parse."""

    def stop(parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        raise _ParserFound(parser)

    try:
        with mock.patch.object(argparse.ArgumentParser, "parse_args", stop):
            _arguments.parse([], version="")
    except _ParserFound as found:
        return cast("argparse.ArgumentParser", found.args[0])
    message = "the command line was read without its parser"
    raise AssertionError(message)


def _described(name: str, of: argparse.ArgumentParser) -> dict[str, str]:
    found = {name: "command"}
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            parsers = cast("dict[str, argparse.ArgumentParser]", vars(action)["choices"])
            for command, inner in parsers.items():
                found |= _described(f"{name} {command}", inner)
        else:
            for option in action.option_strings or [action.dest]:
                found[f"{name} {option}"] = _option(action)
    return found


def _option(action: argparse.Action) -> str:
    """Return what may follow an option, whether it may come again, and what holds without it."""
    text = "option"
    if action.choices is not None:
        text += " {" + ",".join(map(str, action.choices)) + "}"
    elif action.nargs != 0:
        text += f" {action.metavar or action.dest.upper()}"
    if isinstance(action, argparse._AppendAction):
        text += ", several times"
    if action.required:
        text += ", required"
    if action.default not in {None, False, argparse.SUPPRESS}:
        default: object = action.default
        if isinstance(default, frozenset):
            default = ",".join(sorted(each.value for each in cast("frozenset[Verdict]", default)))
        text += f" = {default}"
    return text
