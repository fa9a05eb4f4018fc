"""The part of the kubelet that a DRA driver speaks with, over its Unix sockets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.dra._packages import needed

if TYPE_CHECKING:
    from pathlib import Path

grpc: Any = needed("grpc")
_GENERATED = "pydra.core.generated"
registration: Any = needed(f"{_GENERATED}.pluginregistration.pluginregistration_pb2")
registration_grpc: Any = needed(f"{_GENERATED}.pluginregistration.pluginregistration_pb2_grpc")
dra: Any = needed(f"{_GENERATED}.dra.dra_pb2")
dra_grpc: Any = needed(f"{_GENERATED}.dra.dra_pb2_grpc")

LIMIT = 600  # seconds for one answer, on whatever machine


class Kubelet:
    """Registers one driver, and has it prepare claims.

    Args:
        root: the root of the host, from which the paths of sockets go.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._endpoint = ""

    def _channel(self, path: str) -> Any:  # noqa: ANN401 - it has no types
        # The host's sockets are no business of a proxy.
        options = [("grpc.enable_http_proxy", 0)]
        return grpc.insecure_channel(f"unix:{self._root}{path}", options=options)

    def register(self, path: str) -> Any:  # noqa: ANN401 - it has no types
        """Ask the driver at a socket in the registry who it is, and tell it that it is welcome."""
        with self._channel(path) as channel:
            stub = registration_grpc.RegistrationStub(channel)
            info = stub.GetInfo(registration.InfoRequest(), wait_for_ready=True, timeout=LIMIT)
            self._endpoint = info.endpoint
            status = registration.RegistrationStatus(plugin_registered=True)
            stub.NotifyRegistrationStatus(status, timeout=LIMIT)
        return info

    def prepare(self, name: str, *, uid: str) -> Any:  # noqa: ANN401 - it has no types
        """Return the driver's answer for a claim of the namespace ``default``."""
        with self._channel(self._endpoint) as channel:
            claim = dra.Claim(namespace="default", name=name, uid=uid)
            request = dra.NodePrepareResourcesRequest(claims=[claim])
            stub = dra_grpc.DRAPluginStub(channel)
            return stub.NodePrepareResources(request, timeout=LIMIT).claims[uid]

    def unprepare(self, name: str, *, uid: str) -> str:
        """Return what went wrong; empty if nothing did."""
        with self._channel(self._endpoint) as channel:
            claim = dra.Claim(namespace="default", name=name, uid=uid)
            request = dra.NodeUnprepareResourcesRequest(claims=[claim])
            stub = dra_grpc.DRAPluginStub(channel)
            return str(stub.NodeUnprepareResources(request, timeout=LIMIT).claims[uid].error)
