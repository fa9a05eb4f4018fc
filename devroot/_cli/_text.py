"""An explanation as a person reads it in ``kubectl exec``: 80 columns, no colours."""

from __future__ import annotations

import json
import re
import textwrap
from typing import TYPE_CHECKING, Any, Final, cast

from devroot._cli._explanation import DRIVER_ROOT, State
from devroot._evidence import Verdict
from devroot._presence import Presence
from devroot.errors import InvalidMountError
from devroot.kubernetes import volumes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from devroot._cli._explanation import Candidate, Explanation, Inventory, Landing, Remedy
    from devroot._evidence import Reach

_WIDTH: Final = 80

_MEANING: Final = {
    Verdict.HOST: "proved: the host sees what is made there",
    Verdict.DECLARED: "a mount was asked for and is there; nothing speaks against it",
    Verdict.UNKNOWN: "nothing decides whether the host sees what is made there",
    Verdict.PRIVATE: "what is made there stays in this container",
    Verdict.STALE: "the directory was deleted on the host; nothing can be made there",
}
_STATES: Final = {
    State.TAKEN: "taken",
    State.REFUSED: "refused",
    State.NOT_ASKED: "not asked",
}
_NAMED: Final = 10  # of the nodes that are not there; the document has all
_PLAIN: Final = re.compile(r"[A-Za-z0-9/._-]+")


def render(explanation: Explanation) -> str:
    """Return the explanation as text that ends with a newline."""
    return "\n".join(line.rstrip() for line in _lines(explanation)) + "\n"


def _lines(explanation: Explanation) -> Iterator[str]:
    driver_root, view = explanation.driver_root, explanation.view
    yield from fact("Driver root", f"{driver_root.container}, on the host {driver_root.host}")
    yield from fact("Mounts", "nobody said" if view.mounts is None else f"{len(view.mounts)} given")
    yield from fact("Host's table", "not granted" if view.host_mountinfo is None else "granted")
    yield ""
    yield "Asked for a dev root:"
    for candidate in explanation.candidates:
        yield from _candidate(candidate)
    yield ""
    if explanation.dev_root is None or explanation.reach is None:
        yield from fact("Dev root", "none")
    else:
        yield from fact("Dev root", str(explanation.dev_root))
        yield from _verdict(explanation.reach)
        yield "Where device paths land:"
        for landing in explanation.landings:
            yield from place(landing)
    yield ""
    for inventory in explanation.inventories or ():
        yield from _inventory(inventory)
        yield ""
    if explanation.accepted:
        yield "Accepted."
    else:
        yield "Not accepted."
        yield from _help(explanation)


def _candidate(candidate: Candidate) -> Iterator[str]:
    yield from wrap(f"{candidate.asked}: {_STATES[candidate.state]}", first="  - ", rest="    ")
    yield from wrap(candidate.reason, first="      ")


def _verdict(reach: Reach) -> Iterator[str]:
    yield from fact("Verdict", f"{reach.verdict.name}: {_MEANING[reach.verdict]}")
    for part in reach.parts or (reach,):
        yield ""
        yield from because(part)
        if part.blockers:
            yield "and in the way is"
            yield from _bullets(blocker.text for blocker in part.blockers)
    yield ""


def _inventory(inventory: Inventory) -> Iterator[str]:
    found = inventory.found
    count = "it cannot be told"
    if found is not None:
        count = f"{len(found.ok)} of {len(found.found)} are there for the host"
    yield from wrap(f"{inventory.title}: {count}")
    yield from _bullets(inventory.unknown)
    for presence in Presence:
        nodes = () if found is None or presence is Presence.OK else found.having(presence)
        if nodes:
            names = ", ".join(str(node.path) for node in nodes[:_NAMED])
            more = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
            yield from _bullets([f"{presence.value}: {names}{more}"])


def place(landing: Landing) -> Iterator[str]:
    """Yield the lines that say where a device path lands, here and on the host."""
    yield from wrap(str(landing.device_path), first="  - ", rest="    ")
    reach = landing.reach
    if landing.container_path is None or reach is None:
        yield "      outside the subset that this dev root shows"
        return
    yield from fact("      here", str(landing.container_path), width=12)
    host = f"nowhere ({reach.verdict.name})"
    if reach.host_path is not None:
        host = f"{reach.host_path} ({reach.verdict.name})"
    elif reach.verdict is Verdict.UNKNOWN:
        host = "nobody knows (UNKNOWN)"
    yield from fact("      host", host, width=12)


def _help(explanation: Explanation) -> Iterator[str]:
    for advice in explanation.advice:
        yield ""
        yield from wrap(advice)
    for number, remedy in enumerate(explanation.remedies):
        yield ""
        start = "Or mount" if number or explanation.advice else "What would help: mount"
        way = "" if remedy.fallback == DRIVER_ROOT else f", for --fallback {remedy.fallback}"
        yield from wrap(f"{start} this in the pod{way}:")
        yield from _yaml(remedy)


def _yaml(remedy: Remedy) -> Iterator[str]:
    try:
        needed = volumes(*remedy.mounts)
    except InvalidMountError as error:
        yield from wrap(str(error), first="    # ")
        return
    yield "    volumeMounts:  # of the container"
    for entry in needed.volume_mounts:
        yield from _entry(entry)
    yield "    volumes:  # of the pod"
    for entry in needed.volumes:
        yield from _entry(entry)


def _entry(entry: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of an element of a list: a dictionary of texts, booleans and the like."""
    for number, line in enumerate(_mapping(entry)):
        yield f"    {'  ' if number else '- '}{line}"


def _mapping(fields: dict[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield f"{name}:"
            for line in _mapping(cast("dict[str, Any]", value)):
                yield f"  {line}"
        else:
            yield f"{name}: {_scalar(value) if isinstance(value, str) else json.dumps(value)}"


def _scalar(text: str) -> str:
    """Return *text* for a YAML document, in quotes if it is not plain."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def fact(name: str, text: str, *, width: int = 14) -> Iterator[str]:
    """Yield the lines of a text with a name before it."""
    yield from wrap(text, first=name.ljust(width), rest=" " * width)


def because(reach: Reach) -> Iterator[str]:
    """Yield the lines that give the reasons for a verdict."""
    yield f"{reach.container_path} is {reach.verdict.name}, because"
    yield from _bullets(evidence.text for evidence in reach.evidence)


def _bullets(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from wrap(text, first="  - ", rest="    ")


def wrap(text: str, *, first: str = "", rest: str | None = None) -> list[str]:
    """Return the lines of *text*; a path is never broken, however long it is."""
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
