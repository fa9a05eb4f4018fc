"""What the driver needs of its node, said once: for the manifest and for the driver."""

from __future__ import annotations

import json
from typing import Any

from devroot import Mount, SubsetFallback, kubernetes

DRIVER = "channels.example.com"
PLUGIN = f"/var/lib/kubelet/plugins/{DRIVER}"
REGISTRY = "/var/lib/kubelet/plugins_registry"
SPECS = "/var/run/cdi"

DRIVER_ROOT = Mount(host="/home/kubernetes/bin/example", container="/driver-root", read_only=True)
NODES = "/dev/example-channels"
FALLBACK = SubsetFallback("/host-dev", [NODES])
HOST_PROC = Mount(host="/proc", container="/host-proc", read_only=True)


def daemon_set(
    image: str = "example.com/channels:1", driver_root: Mount = DRIVER_ROOT
) -> dict[str, Any]:
    """Return the DaemonSet of the driver, as `kubectl apply` takes it."""
    labels = {"app": "channels"}
    node_name = {"fieldRef": {"fieldPath": "spec.nodeName"}}
    container = {
        "name": "driver",
        "image": image,
        "command": ["python", "/app/driver.py"],
        "env": [
            {"name": "DRIVER_ROOT", "value": str(driver_root.host)},
            {"name": "NODE_NAME", "valueFrom": node_name},
        ],
        "securityContext": {
            "capabilities": {"drop": ["ALL"], "add": ["MKNOD", "CHOWN", "FOWNER", "DAC_OVERRIDE"]}
        },
    }
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "channels", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"serviceAccountName": "channels", "containers": [container]},
            },
        },
    }
    shared = [Mount(host=path, container=path) for path in (SPECS, PLUGIN, REGISTRY)]
    made = dict.fromkeys((NODES, SPECS, PLUGIN, REGISTRY), "DirectoryOrCreate")
    return kubernetes.add_volumes(manifest, driver_root, FALLBACK, HOST_PROC, *shared, types=made)


def access() -> list[dict[str, Any]]:
    """Return the account of the driver, and what it may do: read claims, and tell its devices."""
    name = {"name": "channels"}
    group = ["resource.k8s.io"]
    verbs = ["get", "create", "update", "delete"]
    rbac = "rbac.authorization.k8s.io"
    role = {"apiGroup": rbac, "kind": "ClusterRole", **name}
    account = {"kind": "ServiceAccount", **name, "namespace": "kube-system"}
    rules = [
        {"apiGroups": group, "resources": ["resourceclaims"], "verbs": ["get"]},
        {"apiGroups": group, "resources": ["resourceslices"], "verbs": verbs},
    ]
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    return [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {**name, "namespace": "kube-system"},
        },
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": name, "rules": rules},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": name,
            "roleRef": role,
            "subjects": [account],
        },
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": DRIVER},
            "spec": {"selectors": selectors},
        },
    ]


if __name__ == "__main__":  # python deployment.py | kubectl apply -f -
    items = [*access(), daemon_set()]
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2))
