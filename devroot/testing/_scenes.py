"""The scenes that have a name: how each host and the plugin's container on it are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from devroot.testing._host import FakeHost

if TYPE_CHECKING:
    from collections.abc import Callable

    from devroot.testing._container import FakeContainer

_KUBELET: Final = (
    "/var/lib/kubelet/plugins:/var/lib/kubelet/plugins",
    "/var/lib/kubelet/plugins_registry:/var/lib/kubelet/plugins_registry",
    "/var/run/cdi:/var/run/cdi",
)


@attrs.frozen(kw_only=True)
class Scene:
    """A host with a container in it that is a plugin's.

    Attributes:
        title: what it is, in a few words.
        driver_root: where the driver is on the host, and where the container sees it.
        fallback: a fallback that fits, as ``python -m devroot explain --fallback`` takes it.
        host: the machine that is the plugin's host.
        container: the plugin's.
        granted: whether the container is granted the host's mount table.
    """

    title: str
    driver_root: tuple[str, str]
    fallback: str
    host: FakeHost | FakeContainer
    container: FakeContainer
    granted: bool = True


def _host(*specs: str) -> FakeHost:
    host = FakeHost(["dir /var/lib/kubelet/plugins", "dir /var/lib/kubelet/plugins_registry"])
    host.devtmpfs("/dev")
    host.tmpfs("/dev/shm", nodev=True, mode=0o1777)  # noqa: S108 - in memory
    host.directory("/run/cdi")
    host.add("dir /sys/dev/block", "dir /sys/dev/char")  # where no device is listed
    host.add(*specs)
    return host


def _gke() -> Scene:
    host = _host()
    host.nvidia_driver("/home/kubernetes/bin/nvidia", imex_channels=2048)
    host._world.number_from(mount_id=2774, minor=311)  # noqa: SLF001 - a host long in use
    container = host.container(
        name="plugin",
        mounts=[
            "/dev/nvidia-caps:/host-dev/dev/nvidia-caps",
            "/dev/nvidia-caps-imex-channels:/host-dev/dev/nvidia-caps-imex-channels",
            "/home/kubernetes/bin/nvidia:/driver-root:ro",
            *_KUBELET,
        ],
    )
    return Scene(
        title="a driver that the host provides, without dev, as on GKE",
        driver_root=("/home/kubernetes/bin/nvidia", "/driver-root"),
        fallback="subset:/host-dev:nvidia-caps,nvidia-caps-imex-channels",
        host=host,
        container=container,
    )


def _host_root() -> Scene:
    host = _host()
    host.nvidia_driver("/", imex_channels=2048)
    return Scene(
        title="a driver in the host's own root, which is mounted with all that is below",
        driver_root=("/", "/driver-root"),
        fallback="root",
        host=host,
        container=host.container(name="plugin", mounts=["/:/driver-root:ro", *_KUBELET]),
    )


def _with_driver_container(host: FakeHost) -> None:
    """Start a driver container, which shows its root to the host at ``/run/nvidia/driver``."""
    host.nvidia_driver(files=False, nodes=False)
    driver = host.container(
        name="driver", privileged=True, mounts=["/run/nvidia:/run/nvidia:rshared"]
    )
    driver.add(*host.driver_files("/"))
    driver.bind("/", "/run/nvidia/driver", recursive=True)


def _operator() -> Scene:
    host = _host()
    _with_driver_container(host)
    return Scene(
        title="a driver in a container of the GPU operator, which shows its root to the host",
        driver_root=("/run/nvidia/driver", "/driver-root"),
        fallback="root",
        host=host,
        container=host.container(
            name="plugin", mounts=["/run/nvidia/driver:/driver-root:rslave", *_KUBELET]
        ),
    )


def _kind() -> Scene:
    host = _host()
    node = host.container(name="node", privileged=True)
    node.tmpfs("/run")
    host.nvidia_driver("/")
    node.add(*host.driver_files("/usr/local/nvidia", nodes=False))
    node.directory("/dev/nvidia-caps")
    container = node.container(
        name="plugin", mounts=["/usr/local/nvidia:/driver-root:ro", "/dev:/dev", *_KUBELET]
    )
    return Scene(
        title="a node that is a container itself, as with kind: its /dev is a tmpfs too",
        driver_root=("/usr/local/nvidia", "/driver-root"),
        fallback="host-dev",
        host=node,
        container=container,
        granted=False,
    )


def _talos() -> Scene:
    host = _host()
    host.nvidia_driver("/usr/local", gpus=1, imex_channels=2048)
    host.tmpfs("/var")
    host.add("dir /var/lib/kubelet/plugins", "dir /var/lib/kubelet/plugins_registry")
    host.symlink("/var/run", "/run")
    host.remount("/", read_only=True)
    return Scene(
        title="a host whose root is read-only, as with Talos, and its /dev mounted aside",
        driver_root=("/usr/local", "/driver-root"),
        fallback="host-dev:/host-dev",
        host=host,
        container=host.container(
            name="plugin",
            mounts=["/usr/local:/driver-root:ro", "/dev:/host-dev/dev", *_KUBELET],
        ),
    )


def _wsl() -> Scene:
    host = _host(
        "char /dev/dxg 10:125 0666",
        "file /usr/lib/wsl/lib/libcuda.so.1 0555",
        "file /usr/lib/wsl/lib/libdxcore.so 0555",
        "file /usr/lib/wsl/lib/nvidia-smi 0555",
    )
    return Scene(
        title="a host below Windows, whose only GPU device is /dev/dxg",
        driver_root=("/usr/lib/wsl", "/driver-root"),
        fallback="root",
        host=host,
        container=host.container(
            name="plugin",
            mounts=["/usr/lib/wsl:/driver-root:ro", "/dev/dxg:/dev/dxg", *_KUBELET],
        ),
    )


def _openshift() -> Scene:
    host = _host()
    host.nvidia_driver("/opt/nvidia")
    return Scene(
        title="a privileged plugin under CRI-O, whose /dev has copies of the host's nodes",
        driver_root=("/opt/nvidia", "/driver-root"),
        fallback="subset:/host-dev:nvidia-caps",
        host=host,
        container=host.container(
            name="plugin",
            privileged=True,
            mounts=[
                "/opt/nvidia:/driver-root:ro",
                "/dev/nvidia-caps:/host-dev/dev/nvidia-caps",
                *_KUBELET,
            ],
        ),
    )


def _mig() -> Scene:
    from devroot.nvidia import MigDevice  # noqa: PLC0415 - only this scene needs it

    host = _host()
    devices = [MigDevice(gpu=0, gi=gi, ci=0) for gi in (1, 2)]
    host.nvidia_driver("/", gpus=2, mig=devices)
    return Scene(
        title="two GPUs, one of them in two MIG devices, and the capabilities' nodes aside",
        driver_root=("/usr", "/driver-root"),
        fallback="subset:/host-dev:nvidia-caps",
        host=host,
        container=host.container(
            name="plugin",
            mounts=[
                "/usr:/driver-root:ro",
                "/dev/nvidia-caps:/host-dev/dev/nvidia-caps",
                *_KUBELET,
            ],
        ),
    )


def _imex() -> Scene:
    host = _host()
    host.nvidia_driver("/", imex_channels=2048)
    return Scene(
        title="the host's root without what is mounted below, and the IMEX channels aside",
        driver_root=("/", "/driver-root"),
        fallback="subset:/host-dev:nvidia-caps,nvidia-caps-imex-channels",
        host=host,
        container=host.container(
            name="plugin",
            mounts=[
                "/:/driver-root:ro,bind",
                "/dev/nvidia-caps:/host-dev/dev/nvidia-caps",
                "/dev/nvidia-caps-imex-channels:/host-dev/dev/nvidia-caps-imex-channels",
                *_KUBELET,
            ],
        ),
    )


SCENES: Final[dict[str, Callable[[], Scene]]] = {
    "gke": _gke,
    "host-root": _host_root,
    "operator": _operator,
    "kind": _kind,
    "talos": _talos,
    "wsl": _wsl,
    "openshift-crio": _openshift,
    "mig": _mig,
    "imex": _imex,
}
