"""A stand-in for the Kubernetes API server: the objects of `resource.k8s.io`, over HTTP."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Generator

PREFIX = "/apis/resource.k8s.io/v1/"


class Api:
    """Objects by their path below the prefix, as in ``resourceslices/NAME``."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.address = ""

    def kubeconfig(self) -> dict[str, Any]:
        """Return what a client needs to find this server."""
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": self.address}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "users": [{"name": "test", "user": {}}],
        }

    def allocate(self, name: str, *, uid: str, devices: dict[str, str]) -> None:
        """Add a claim of the namespace ``default`` for which devices were chosen.

        Args:
            name: of the claim.
            uid: of the claim.
            devices: the driver of each device.
        """
        results = [
            {"request": "all", "driver": driver, "pool": driver, "device": device}
            for device, driver in devices.items()
        ]
        self.objects[f"namespaces/default/resourceclaims/{name}"] = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": "default", "uid": uid},
            "spec": {},
            "status": {"allocation": {"devices": {"results": results}}},
        }

    @property
    def slices(self) -> dict[str, dict[str, Any]]:
        """The resource slices by name."""
        word = "resourceslices/"
        return {
            path.removeprefix(word): value
            for path, value in dict(self.objects).items()
            if path.startswith(word)
        }


class _Server(ThreadingHTTPServer):
    def __init__(self, api: Api) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api
        api.address = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    @property
    def _objects(self) -> dict[str, dict[str, Any]]:
        return cast("_Server", self.server).api.objects

    def _answer(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _path(self) -> str:
        return self.path.partition("?")[0].removeprefix(PREFIX)

    def _body(self) -> dict[str, Any]:
        length = int(self.headers.get("Content-Length", "0"))
        found: dict[str, Any] = json.loads(self.rfile.read(length) or b"{}")
        return found

    def _not_found(self) -> None:
        self._answer(404, {"apiVersion": "v1", "kind": "Status", "code": 404})

    def do_GET(self) -> None:
        found = self._objects.get(self._path())
        if found is None:
            self._not_found()
        else:
            self._answer(200, found)

    def do_POST(self) -> None:
        body = self._body()
        self._objects[f"{self._path()}/{body['metadata']['name']}"] = body
        self._answer(201, body)

    def do_DELETE(self) -> None:
        self._body()
        found = self._objects.pop(self._path(), None)
        if found is None:
            self._not_found()
        else:
            self._answer(200, found)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def api_server() -> Generator[Api]:
    """Serve on this machine's own address, at a port that is free."""
    api = Api()
    with _Server(api) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()
