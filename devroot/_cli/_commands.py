"""The commands: ``explain``, and ``demo``, which is two of them with a story around."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from devroot._cli import _json, _text
from devroot._cli._arguments import parse_fallback
from devroot._cli._explanation import explain
from devroot._cli._inventory import take_stock
from devroot._cli._setting import setting_of
from devroot.testing import scenario

if TYPE_CHECKING:
    import argparse

_ACCEPTED: Final = 0
_NOT_ACCEPTED: Final = 3

_DEMO_SCENARIO: Final = "gke"
_STORY: Final = """\
A kubelet plugin is to make a device node that a workload will use. Its host has
installed the driver, and that tree has no dev directory. Where is the node to be
made? First, as it is often done: in the /dev of the plugin's own container.
"""
_TURN: Final = """\
A node that is made there is one that the runtime on the host does not find:

  failed to stat CDI host device "/dev/nvidia-caps/nvidia-cap4323":
  no such file or directory

Now in the two directories of the host's /dev that the pod has mounted aside.
"""


def run_explain(arguments: argparse.Namespace, *, version: str) -> tuple[int, str]:
    """Return the exit status and what to print.

    Raises:
        DevRootError: what the arguments name cannot be read, or contradicts itself.
        OSError: a directory on the way cannot be looked into.
    """
    setting = setting_of(arguments)
    explanation = explain(setting.driver_root, setting.fallbacks)
    if arguments.nodes:
        explanation = attrs.evolve(explanation, inventories=take_stock(explanation))
    status = _ACCEPTED if explanation.accepted else _NOT_ACCEPTED
    if arguments.json:
        return status, _json.render(explanation, version=version)
    return status, _text.render(explanation)


def run_demo() -> tuple[int, str]:
    """Return the exit status and what to print."""
    scene = scenario(_DEMO_SCENARIO)
    pages: list[str] = []
    for story, fallback in ((_STORY, "root"), (_TURN, scene.fallback)):
        command = f"$ python -m devroot explain --scenario {scene.name} \\\n"
        command += f"    --fallback {fallback}\n"
        explanation = explain(scene.driver_root, [(fallback, parse_fallback(fallback))])
        pages += [story, command, _text.render(explanation)]
    return 0, "\n".join(pages)
