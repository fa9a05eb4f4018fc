"""What devroot says in the log: the logger ``devroot``, and each thing that it says there.

Nobody can have asked for records who has not loaded `logging`, so this loads it never, and costs
next to nothing until somebody does.
"""

from __future__ import annotations

import enum
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import logging

    from typing_extensions import Self

LOGGER: Final = "devroot"
"""The name of the only logger. Nothing is said at ``WARNING`` or above: errors are raised."""

DEBUG: Final = 10
INFO: Final = 20

# What controls a terminal, and what ends a line somewhere: C0, DEL, C1 and two of Unicode.
_CONTROL: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}

_logger: logging.Logger | None = None  # the same for every thread, whoever finds it first


class Event(enum.Enum):
    """A kind of record; its value is the record's attribute ``devroot_event``.

    Each has the level of the records and their text, in the form of the operator ``%``.
    """

    level: int
    text: str

    def __new__(cls, value: str, level: int, text: str) -> Self:
        """Keep level and text beside the value."""
        event = object.__new__(cls)
        event._value_, event.level, event.text = value, level, text
        return event

    NODE_CREATED = "node-created", INFO, "made %s at %s, on the host %s"
    NODE_REPAIRED = "node-repaired", INFO, "put %s right at %s, on the host %s; it had another %s"
    NODE_REMOVED = "node-removed", INFO, "removed %s at %s, on the host %s"
    NODE_FAILED = "node-failed", INFO, "could not have %s as described: %s"
    NODE_LEFT = "node-left", DEBUG, "left %s alone: %s"
    NODES_RIGHT = "nodes-right", DEBUG, "right already in %s: %d"
    LEFTOVER_REMOVED = "leftover-removed", DEBUG, "removed what a run that ended early left: %s"
    REACH = "reach", DEBUG, "%s is %s, on the host %s: %s"
    DEV_ROOT_CHOSEN = (
        "dev-root-chosen",
        INFO,
        "took %s as the dev root of driver root %s, by %s",
    )
    FALLBACK_REFUSED = "fallback-refused", DEBUG, "refused %s: %s"
    OPENAT2_REFUSED = "openat2-refused", DEBUG, "openat2 is refused here, %s: walking from now on"
    OPENAT2_UNSURE = "openat2-unsure", DEBUG, "openat2 stayed unsure of %s in %s: walking this once"
    TABLES_REREAD = "tables-reread", DEBUG, "reading the mount tables again: %s"
    SPEC_WRITTEN = "spec-written", INFO, "wrote the CDI spec of %s to %s"
    SPEC_REMOVED = "spec-removed", INFO, "removed the CDI spec %s"


def is_heard(event: Event) -> bool:
    """Whether anybody asked for records of this level; for what is costly to say."""
    logger = _find()
    return logger is not None and logger.isEnabledFor(event.level)


def tell(event: Event, *arguments: object) -> None:
    r"""Say that something happened, if anybody asked for that.

    Args:
        event: what happened.
        arguments: for its text; they are rendered only if somebody hears it. Bytes of a path that
            are not UTF-8 come as ``\xff`` and control characters as ``\x0a``, so that a path
            makes neither a line of its own nor an error in a stream.
    """
    logger = _find()
    if logger is not None and logger.isEnabledFor(event.level):
        shown = (each if isinstance(each, int) else _printable(str(each)) for each in arguments)
        logger.log(
            event.level, event.text, *shown, stacklevel=2, extra={"devroot_event": event.value}
        )


def _find() -> logging.Logger | None:
    global _logger  # noqa: PLW0603 - there is one logger in a process
    if _logger is None:
        get = getattr(sys.modules.get("logging"), "getLogger", None)  # it may be half loaded
        if get is not None:
            _logger = get(LOGGER)
    return _logger


def _printable(text: str) -> str:
    shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return shown.translate(_CONTROL)
