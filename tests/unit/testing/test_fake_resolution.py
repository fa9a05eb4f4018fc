"""The table of paths that every file system has to resolve alike, on fake hosts and containers."""

from __future__ import annotations

import pytest

from devroot._paths import ContainerPath
from devroot.testing import FakeHost
from tests._resolution import TREE
from tests._systems import System, _moved
from tests.unit.test_local_resolution import (
    test_content,
    test_directories,
    test_failed,
    test_found,
    test_links,
    test_no_content,
    test_no_links,
)

__all__ = [
    "test_content",
    "test_directories",
    "test_failed",
    "test_found",
    "test_links",
    "test_no_content",
    "test_no_links",
]


@pytest.fixture(scope="module", params=["directory", "bind", "tmpfs", "host", "submount"])
def system(request: pytest.FixtureRequest) -> System:
    """Give the tree in a directory, a bind mount, a tmpfs, on the host, and a submount."""
    host = FakeHost()
    host.directory("/r")
    if request.param == "host":
        host.add(*_moved("/r", TREE))
        return System(host.filesystem, ContainerPath("/r"))
    if request.param == "submount":
        host.tmpfs("/r/s")
        host.add(*_moved("/r/s", TREE))
        container = host.container(mounts=["/r:/r:rbind"])
        return System(container.filesystem, ContainerPath("/r/s"))
    container = host.container(mounts=["/r:/r"] if request.param == "bind" else [])
    if request.param == "tmpfs":
        container.tmpfs("/r")
    container.add(*_moved("/r", TREE))
    return System(container.filesystem, ContainerPath("/r"))
