"""The scenario ``gke``: a kubelet plugin whose driver the cloud provider has installed.

The host keeps the driver at ``/home/kubernetes/bin/nvidia``, which the pod sees, read-only, at
``/driver-root``. That tree has no ``dev``. The container's own ``/dev`` is the tmpfs that the
runtime made, and the two directories of the host's devtmpfs in which the plugin has work to do
are mounted aside, below ``/host-dev``.
"""

# ruff: noqa: E501 - a line of a mount table is as long as it is

from __future__ import annotations

from typing import Final

from devroot.testing._recording import Recording

_HOST_MOUNTINFO: Final = """\
24 1 253:0 / / ro,relatime shared:1 - ext2 /dev/dm-0 ro
25 24 0:5 / /dev rw,nosuid,noexec shared:2 - devtmpfs devtmpfs rw,size=8192k,nr_inodes=2051834,mode=755
26 25 0:22 / /dev/shm rw,nosuid,nodev shared:3 - tmpfs tmpfs rw
27 25 0:23 / /dev/pts rw,nosuid,noexec,relatime shared:4 - devpts devpts rw,gid=5,mode=620,ptmxmode=000
28 25 0:19 / /dev/mqueue rw,nosuid,nodev,noexec,relatime shared:5 - mqueue mqueue rw
29 24 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:6 - proc proc rw
30 24 0:20 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw
31 30 0:25 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:8 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
32 24 0:26 / /run rw,nosuid,nodev shared:9 - tmpfs tmpfs rw,size=3283012k,nr_inodes=819200,mode=755
33 24 0:27 / /tmp rw,nosuid,nodev,noexec shared:10 - tmpfs tmpfs rw
34 24 8:1 / /mnt/stateful_partition rw,nosuid,nodev,noexec,relatime shared:11 - ext4 /dev/sda1 rw,commit=30
35 24 8:1 /home /home rw,nosuid,nodev,noexec,relatime shared:11 - ext4 /dev/sda1 rw,commit=30
36 24 8:1 /var /var rw,nosuid,nodev,noexec,relatime shared:11 - ext4 /dev/sda1 rw,commit=30
37 35 8:1 /home/kubernetes/bin /home/kubernetes/bin rw,nosuid,nodev,relatime shared:11 - ext4 /dev/sda1 rw,commit=30
38 36 8:1 /var/lib/kubelet /var/lib/kubelet rw,relatime shared:11 - ext4 /dev/sda1 rw,commit=30
39 36 8:1 /var/lib/containerd /var/lib/containerd rw,nosuid,nodev,relatime shared:11 - ext4 /dev/sda1 rw,commit=30
640 38 0:298 / /var/lib/kubelet/pods/5f1d2a6c-90ab-4c51-8f6e-2d4b7c0e9a13/volumes/kubernetes.io~projected/kube-api-access-q7x2m rw,relatime shared:240 - tmpfs tmpfs rw,size=65671760k,noswap
655 32 0:301 / /run/containerd/io.containerd.grpc.v1.cri/sandboxes/3b9e51/shm rw,nosuid,nodev,noexec,relatime shared:252 - tmpfs shm rw,size=65536k
671 32 0:311 / /run/containerd/io.containerd.runtime.v2.task/k8s.io/c47d08/rootfs rw,relatime shared:260 - overlay overlay rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/88/fs,upperdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/91/fs,workdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/91/work
"""

_MOUNTINFO: Final = """\
2775 2700 0:311 / / rw,relatime master:260 - overlay overlay rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/88/fs,upperdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/91/fs,workdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/91/work
2776 2775 0:312 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
2777 2775 0:313 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
2778 2777 0:314 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,gid=5,mode=620,ptmxmode=666
2779 2777 0:310 / /dev/mqueue rw,nosuid,nodev,noexec,relatime - mqueue mqueue rw
2780 2775 0:309 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro
2781 2780 0:25 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
2782 2775 0:5 /nvidia-caps /host-dev/dev/nvidia-caps rw,nosuid,noexec - devtmpfs devtmpfs rw,size=8192k,nr_inodes=2051834,mode=755
2783 2775 0:5 /nvidia-caps-imex-channels /host-dev/dev/nvidia-caps-imex-channels rw,nosuid,noexec - devtmpfs devtmpfs rw,size=8192k,nr_inodes=2051834,mode=755
2784 2775 8:1 /home/kubernetes/bin/nvidia /driver-root ro,nosuid,nodev,relatime master:11 - ext4 /dev/sda1 rw,commit=30
2785 2775 8:1 /var/lib/kubelet/plugins /var/lib/kubelet/plugins rw,relatime - ext4 /dev/sda1 rw,commit=30
2786 2775 8:1 /var/lib/kubelet/plugins_registry /var/lib/kubelet/plugins_registry rw,relatime - ext4 /dev/sda1 rw,commit=30
2787 2775 0:26 /cdi /run/cdi rw,nosuid,nodev - tmpfs tmpfs rw,size=3283012k,nr_inodes=819200,mode=755
2788 2775 8:1 /var/lib/kubelet/pods/5f1d2a6c-90ab-4c51-8f6e-2d4b7c0e9a13/etc-hosts /etc/hosts rw,relatime - ext4 /dev/sda1 rw,commit=30
2789 2777 8:1 /var/lib/kubelet/pods/5f1d2a6c-90ab-4c51-8f6e-2d4b7c0e9a13/containers/plugin/1c0a77f2 /dev/termination-log rw,relatime - ext4 /dev/sda1 rw,commit=30
2790 2777 0:301 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs shm rw,size=65536k
2791 2775 0:298 / /run/secrets/kubernetes.io/serviceaccount ro,relatime - tmpfs tmpfs rw,size=65671760k,noswap
2792 2776 0:312 /bus /proc/bus ro,nosuid,nodev,noexec,relatime - proc proc rw
2793 2776 0:312 /sys /proc/sys ro,nosuid,nodev,noexec,relatime - proc proc rw
2794 2776 0:315 / /proc/acpi ro,relatime - tmpfs tmpfs ro
2795 2776 0:313 /null /proc/kcore rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
"""

_PARAMS: Final = """\
ResmanDebugLevel: 4294967295
RmLogonRC: 1
ModifyDeviceFiles: 1
DeviceFileUID: 0
DeviceFileGID: 0
DeviceFileMode: 438
InitializeSystemMemoryAllocations: 1
EnableStreamMemOPs: 0
ImexChannelCount: 2048
CreateImexChannel0: 0
RegistryDwords: ""
"""

_DEVICES: Final = """\
Character devices:
  1 mem
  4 tty
  5 /dev/tty
  5 /dev/console
  5 /dev/ptmx
 10 misc
136 pts
195 nvidia
195 nvidia-modeset
195 nvidiactl
507 nvidia-nvswitch
509 nvidia-uvm
510 nvidia-caps-imex-channels
511 nvidia-caps

Block devices:
  7 loop
  8 sd
253 device-mapper
259 blkext
"""


def _capability(name: str, minor: int, mode: int) -> str:
    return (
        f"file /proc/driver/nvidia/capabilities/{name} 0444\n"
        f"DeviceFileMinor: {minor}\nDeviceFileMode: {mode}\nDeviceFileModify: 1\n"
    )


# What the container sees. The capabilities are those that a runtime gives to any container,
# CAP_MKNOD (27) among them.
_FILES: Final = (
    "dir /driver-root/bin",
    "file /driver-root/bin/nvidia-smi 0755",
    "file /driver-root/bin/nvidia-imex-ctl 0755",
    "link /driver-root/lib64/libcuda.so libcuda.so.1",
    "link /driver-root/lib64/libcuda.so.1 libcuda.so.580.65.06",
    "file /driver-root/lib64/libcuda.so.580.65.06 0755",
    "link /driver-root/lib64/libnvidia-ml.so.1 libnvidia-ml.so.580.65.06",
    "file /driver-root/lib64/libnvidia-ml.so.580.65.06 0755",
    "char /dev/null 1:3 0666",
    "char /dev/zero 1:5 0666",
    "char /dev/full 1:7 0666",
    "char /dev/random 1:8 0666",
    "char /dev/urandom 1:9 0666",
    "char /dev/tty 5:0 0666 0:5",
    "link /dev/core /proc/kcore",
    "link /dev/fd /proc/self/fd",
    "link /dev/ptmx pts/ptmx",
    "link /dev/stdin /proc/self/fd/0",
    "link /dev/stdout /proc/self/fd/1",
    "link /dev/stderr /proc/self/fd/2",
    "dir /dev/mqueue 1777",
    "char /dev/pts/ptmx 5:2 0666",
    "dir /dev/shm 1777",
    "file /dev/termination-log 0666",
    "char /host-dev/dev/nvidia-caps/nvidia-cap1 511:1 0400",
    "char /host-dev/dev/nvidia-caps/nvidia-cap2 511:2 0444",
    "dir /host-dev/dev/nvidia-caps-imex-channels",
    "link /var/run /run",
    "dir /run/cdi",
    "dir /run/secrets/kubernetes.io/serviceaccount 1777",
    "dir /var/lib/kubelet/plugins",
    "dir /var/lib/kubelet/plugins_registry",
    "file /etc/hosts\n127.0.0.1 localhost\n",
    "dir /sys/fs/cgroup",
    "link /proc/self 17",
    "dir /proc/17 0555",
    "file /proc/17/status 0444\nName:\tplugin\nUid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\n",
    "link /proc/17/ns/user user:[4026531837]",
    f"file /proc/17/mountinfo 0444\n{_MOUNTINFO}",
    f"file /proc/devices 0444\n{_DEVICES}",
    f"file /proc/driver/nvidia/params 0444\n{_PARAMS}",
    _capability("mig/config", 1, 256),
    _capability("mig/monitor", 2, 292),
    _capability("fabric-imex-mgmt", 4323, 256),
    "dir /proc/acpi 0555",
    "dir /proc/bus 0555",
    "dir /proc/sys 0555",
    "char /proc/kcore 1:3 0666",
)

GKE: Final = Recording(
    title="a driver that the host provides, without dev, as on GKE",
    driver_root_host="/home/kubernetes/bin/nvidia",
    driver_root_container="/driver-root",
    fallback="subset:/host-dev:nvidia-caps,nvidia-caps-imex-channels",
    mounts=(
        "/dev/nvidia-caps:/host-dev/dev/nvidia-caps",
        "/dev/nvidia-caps-imex-channels:/host-dev/dev/nvidia-caps-imex-channels",
        "/home/kubernetes/bin/nvidia:/driver-root:ro",
        "/var/lib/kubelet/plugins:/var/lib/kubelet/plugins",
        "/var/lib/kubelet/plugins_registry:/var/lib/kubelet/plugins_registry",
        "/var/run/cdi:/var/run/cdi",
    ),
    files=_FILES,
    host_mountinfo=_HOST_MOUNTINFO,
)
