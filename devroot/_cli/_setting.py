"""The container that a command is about: this one, or a recorded one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from devroot._cli._arguments import parse_fallback
from devroot._driver_root import DriverRoot
from devroot._mounts import MountTable
from devroot._view import ContainerView
from devroot.testing import scenario

if TYPE_CHECKING:
    import argparse

    from devroot._driver_root import Fallback


@attrs.frozen
class Setting:
    """A driver root in a container, and what to ask for a dev root.

    Attributes:
        driver_root: the driver root.
        fallbacks: each with its text on the command line, in order.
    """

    driver_root: DriverRoot
    fallbacks: list[tuple[str, Fallback]]


def setting_of(arguments: argparse.Namespace) -> Setting:
    """Return the setting that the arguments describe.

    Raises:
        DevRootError: what they name cannot be read, or contradicts itself.
    """
    mounts = MountTable(arguments.mount) if arguments.mount else None
    if arguments.scenario is None:
        default, pair = "root", arguments.driver_root
        view = ContainerView.of_process(
            mounts=mounts, host_mountinfo=arguments.host_mountinfo, proc=arguments.proc
        )
    else:
        scene = scenario(arguments.scenario)
        default = scene.fallback
        pair = arguments.driver_root or (scene.driver_root_host, scene.driver_root_container)
        view = ContainerView.of_process(
            mounts=scene.mounts if mounts is None else mounts,
            host_mountinfo=arguments.host_mountinfo or scene.host_mountinfo,
            proc=arguments.proc,
            filesystem=scene.filesystem,
        )
    return Setting(
        DriverRoot(host=pair[0], container=pair[1], view=view),
        arguments.fallback or [(default, parse_fallback(default))],
    )
