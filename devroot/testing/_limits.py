"""What the testing kit does not model: each with the way out, as the documentation lists it."""

from __future__ import annotations

import enum

from devroot.errors import NotModelledError


class Limit(enum.Enum):
    """Something that is not modelled: in words, and what a test can do instead."""

    PROC = (
        "files of `/proc` but those of drivers, and `mountinfo`, `status` and ID maps of processes",
        "give them content by `FakeHost.proc_file(path, content)`",
    )
    SYS = (
        "files of `/sys` other than those of the devices of a `FakeUdev`",
        "make them by `FakeHost.file('/sys/...')`, or plug devices into a `FakeUdev`",
    )
    KERNEL_FILE_OWNERS = (
        "another mode or owner for a file of procfs, sysfs, devpts or mqueue",
        "let it fail as it is to, by `filesystem.fail('mend', errno.EPERM)`",
    )
    QUEUES = (
        "message queues in `/dev/mqueue`",
        "make files elsewhere",
    )
    SIZE = (
        "how much fits into a tmpfs that has a size",
        "write less, or let the file system be full by `fill(path)`",
    )
    NESTED_USERS = (
        "a user namespace in a user namespace",
        "start the container in the user namespace of the outer one",
    )
    PRIVILEGED_USERS = (
        "a privileged container in a user namespace other than the initial one",
        "leave one of the two out",
    )
    IDMAP = (
        "ID-mapped mounts, which a pod with `hostUsers: false` has",
        "start `container(user_namespace=True, mounts=[...])`, whose mounts are not mapped",
    )
    UNBINDABLE = (
        "unbindable mounts",
        "use `private`, and bind nothing that is to stay alone",
    )
    LABELS = (
        "SELinux labels and AppArmor or seccomp profiles of your own",
        "leave them out, and let operations fail by `filesystem.fail(...)`",
    )
    MOUNT_OPTIONS = (
        "options of a mount other than `ro`, `rro`, `nosuid`, `nodev`, `noexec` and propagation",
        "leave them out",
    )
    RUNTIME_CLASS = (
        "what a `runtimeClassName` brings: another kernel, or files and nodes of a driver",
        "leave it out of the manifest, and `add(...)` what the runtime would",
    )
    DEVICES_OF_CLAIMS = (
        "what a device plugin or a resource claim adds to a container",
        "leave the resource out of the manifest, and `add(...)` what they would",
    )
    PROCESS_NAMESPACE = (
        "`shareProcessNamespace`, with which PID 1 is the pause container's",
        "leave it out of the manifest",
    )
    PROC_MOUNT = (
        "`procMount: Unmasked`",
        "leave it out of the manifest",
    )
    RAW_DEVICES = (
        "`volumeDevices`, block devices of a claim",
        "leave them out of the manifest, and make the node by `device(path, ...)`",
    )
    VOLUME_KINDS = (
        "volumes but `hostPath`, `emptyDir`, `configMap`, `secret`, `projected`, `downwardAPI`",
        "use one of these in the manifest",
    )
    VOLUME_CONTENT = (
        "the files in a `configMap`, `secret`, `projected` or `downwardAPI` volume",
        "make them by `container.file(path, content)`",
    )
    RUNTIME_FILES = (
        "the content of `/etc/hosts`, `/etc/hostname` and `/etc/resolv.conf` in a pod",
        "give it by `container.file(path, content)`",
    )
    SUB_PATH_EXPRESSION = (
        "a `subPathExpr`, and a `subPath` of a volume other than a `hostPath` or an `emptyDir`",
        "use a `subPath` of one of these in the manifest",
    )
    WINDOWS = (
        "pods for Windows",
        "give a pod for Linux",
    )

    @property
    def what(self) -> str:
        """What is not modelled."""
        return self.value[0]

    @property
    def remedy(self) -> str:
        """What a test can do instead."""
        return self.value[1]

    def met(self, where: str = "") -> NotModelledError:
        """Return the error for meeting it, at the path or field *where*."""
        return NotModelledError(self.what, remedy=self.remedy, where=where)
