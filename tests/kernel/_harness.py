"""Hosts and containers for tests, made of namespaces on the kernel at hand.

A `Host` is a process in a mount and process namespace of its own, with a tmpfs as scratch space
and, unless told otherwise, a tmpfs as its ``/dev``. A `Container` in it is what a runtime makes:
an overlay of ``/`` as its root, entered by pivot_root(2), with its own ``/proc`` and ``/dev`` and
the volumes asked for. All of it goes away with the processes.

    with Host() as host:
        plugin = host.container(Volume("/dev", "/host-dev/dev"))
        plugin.call("make_node", path="/host-dev/dev/x", major=1, minor=3)
        assert host.describe("/dev/x") == "c 1:3 0666"
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs
from typing_extensions import Self

import devroot
from tests._children import environment

if TYPE_CHECKING:
    from collections.abc import Generator
    from io import BufferedRWPair
    from types import TracebackType

_AGENT = Path(__file__).with_name("_agent.py")
_NEEDED = sorted(
    {
        sys.prefix,
        sys.base_prefix,
        str(Path(devroot.__file__).parent.parent),
        str(_AGENT.parent),
    }
)
_POLL = 0.5  # seconds between two looks at whether a process that should connect still lives


class AgentError(Exception):
    """What a host or container was asked to do has failed there; the text is its traceback."""


@attrs.frozen
class Volume:
    """A bind mount of the host's path *source* at the container's *target*.

    Attributes:
        source: the host's path.
        target: the container's path.
        read_only: this mount alone, not what is mounted below it, as runtimes do it.
        recursive: whether the mounts below *source* come along.
        propagation: as in a pod's volume mount: ``rslave`` is ``HostToContainer``,
            ``rshared`` is ``Bidirectional``; empty leaves what the host has.
    """

    source: str
    target: str
    read_only: bool = attrs.field(default=False, kw_only=True)
    recursive: bool = attrs.field(default=True, kw_only=True)
    propagation: Literal["", "private", "rslave", "rshared"] = attrs.field(
        default="private", kw_only=True
    )

    def __str__(self) -> str:
        return f"{self.source}:{self.target}{':ro' if self.read_only else ''}"


class _Listener:
    """A Unix socket with an abstract name, at which one agent is awaited at a time."""

    def __init__(self) -> None:
        self.address = f"devroot-test-{secrets.token_hex(8)}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind("\0" + self.address)
        self._socket.listen()
        self._socket.settimeout(_POLL)

    def accept(self, process: subprocess.Popen[bytes]) -> BufferedRWPair:
        """Return the connection of the agent that *process* starts, itself or in a child."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except TimeoutError:
                if process.poll() is not None:
                    message = f"the host ended with status {process.returncode}"
                    raise AgentError(message) from None
            else:
                with connection:
                    connection.settimeout(None)
                    return connection.makefile("rwb")

    def close(self) -> None:
        """Give the name back."""
        self._socket.close()


class Place:
    """A host or container: a namespace with an agent in it."""

    def __init__(self, listener: _Listener, process: subprocess.Popen[bytes], name: str) -> None:
        self.name = name
        self._listener = listener
        self._process = process
        self._stream = listener.accept(process)
        self._containers = itertools.count(1)
        self._receive()

    def _receive(self) -> Any:  # noqa: ANN401 - whatever JSON can say
        line = self._stream.readline()
        if not line:
            message = f"{self.name} has ended"
            raise AgentError(message)
        answer = json.loads(line)
        if "error" in answer:
            message = f"in {self.name}:\n{answer['error']}"
            raise AgentError(message)
        return answer["result"]

    def _send(self, function: str, *, module: str = "", **arguments: object) -> None:
        request = {"module": module, "function": function, "arguments": arguments}
        self._stream.write(json.dumps(request).encode() + b"\n")
        self._stream.flush()

    def call(self, function: str, *, module: str = "", **arguments: object) -> Any:  # noqa: ANN401
        """Call *function* of the agent, or of *module* beside it, there; return what it returns.

        Raises:
            AgentError: it has raised.
        """
        self._send(function, module=module, **arguments)
        return self._receive()

    def describe(self, path: str) -> str:
        """Return what is at *path* here, such as ``c 235:4323 0666``; empty if nothing is."""
        return str(self.call("describe", path=path))

    def mountinfo(self) -> str:
        """Return the table of mounts here."""
        return str(self.call("mountinfo"))

    def container(
        self,
        *volumes: Volume,
        dev: Literal["private", "snapshot", "none"] = "private",
        nests: bool = False,
    ) -> Container:
        """Start a container here.

        Args:
            volumes: what is mounted, in this order.
            dev: its own ``/dev`` with the usual nodes, or with copies of all nodes here as a
                privileged container has them, or none because a volume brings one.
            nests: whether it is to hold containers itself, as a kind node does.
        """
        name = f"{self.name}-{next(self._containers)}"
        spec = {
            "root": f"/run/containers/{name}",
            "dev": dev,
            "volumes": [attrs.asdict(volume) for volume in volumes],
            "needed": _NEEDED,
            "nests": nests,
        }
        self._send("start_container", address=self._listener.address, spec=spec)
        container = Container(self._listener, self._process, name)
        self._receive()
        return container


class Container(Place):
    """A running container; it ends when its host does."""


class Host(Place):
    """A host of its own, for a ``with`` statement.

    Args:
        dev: ``private`` for a tmpfs as ``/dev``; ``real`` for the machine's own, in which the
            test may only use a `device_directory`.
    """

    def __init__(self, *, dev: Literal["private", "real"] = "private") -> None:
        with ExitStack() as stack:
            listener = _Listener()
            stack.callback(listener.close)
            command = ["unshare", "--mount", "--propagation", "private", "--pid", "--mount-proc"]
            command += ["--fork", "--kill-child", sys.executable, str(_AGENT), listener.address]
            process = subprocess.Popen(command, env=environment(), stdin=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.kill)
            super().__init__(listener, process, "host")
            self.call("make_host", dev=dev)
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stream.close()
        self._stack.close()


@contextmanager
def device_directory(prefix: str = "devroot-test") -> Generator[str]:
    """Give the name of a directory below the machine's own ``/dev`` that nobody has.

    There is one devtmpfs, whatever the namespace, so what a test makes in it has to be removed
    from it. A process of its own does that when this one ends, even if it is killed.
    """
    name = f"{prefix}-{secrets.token_hex(8)}"
    path = f"/dev/{name}"
    os.mkdir(path)  # refuses one that exists
    script = 'trap "" HUP INT TERM; cat; rm -rf -- "$1"'
    guard = subprocess.Popen(
        ["sh", "-c", script, "sh", path], stdin=subprocess.PIPE, start_new_session=True
    )
    try:
        yield name
    finally:
        guard.communicate()


def has_devtmpfs() -> bool:
    """Return whether the machine's ``/dev`` is devtmpfs, as on every real host."""
    lines = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").split("\n")
    return any(" /dev " in line and " - devtmpfs " in line for line in lines)
