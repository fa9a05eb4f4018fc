"""What the testing kit does not model: the list in the documentation, and that it raises."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from devroot import ContainerPath, FileType, NotModelledError
from devroot import testing as devroot_testing
from devroot.testing import FakeContainer, FakeHost, FakeUdev
from devroot.testing._limits import Limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT: Final = ContainerPath("/")
PAGE: Final = Path(__file__).parents[3] / "docs" / "reference" / "testing.md"
SECTION: Final = re.compile(
    r"^## What it does not model$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL
)
ROW: Final = re.compile(r"^\| (?!not modelled|---)(.+?) \| (.+?) \|$", re.MULTILINE)


def a_host() -> FakeHost:
    """Return a host with devtmpfs."""
    host = FakeHost()
    host.devtmpfs("/dev")
    return host


def look(path: str) -> Callable[[], object]:
    """Return a look at *path* in a container."""
    return lambda: a_host().container().filesystem.status(ROOT, path)


def read(path: str, **wishes: Any) -> Callable[[], object]:  # noqa: ANN401 - of a container
    """Return reading the file *path* in a container."""
    return lambda: a_host().container(**wishes).filesystem.read_bytes(ROOT, path)


def names(path: str) -> Callable[[], object]:
    """Return listing the directory *path* in a container."""
    return lambda: a_host().container().filesystem.open_directory(ROOT, path).names()


def within(path: str, action: Callable[[Any], object]) -> Callable[[], object]:
    """Return an action in the directory *path* of a container that has the host's ``/dev``."""
    return lambda: action(
        a_host().container(mounts=["/dev:/host-dev"]).filesystem.open_directory(ROOT, path)
    )


def start(**wishes: Any) -> Callable[[], object]:  # noqa: ANN401 - of a container
    """Return starting a container."""
    return lambda: a_host().container(**wishes)


def manifest(
    container: dict[str, Any] | None = None,
    volume: dict[str, Any] | None = None,
    mount: dict[str, Any] | None = None,
    **spec: Any,  # noqa: ANN401 - of a pod
) -> dict[str, Any]:
    """Return a pod with one container, which has one volume."""
    own = {
        "name": "plugin",
        "volumeMounts": [{"name": "v", "mountPath": "/v", **(mount or {})}],
        **(container or {}),
    }
    volumes = [{"name": "v", **({"emptyDir": {}} if volume is None else volume)}]
    return {"spec": {"containers": [own], "volumes": volumes, **spec}}


def pod(**parts: Any) -> Callable[[], FakeContainer]:  # noqa: ANN401 - of a manifest
    """Return starting a pod."""
    return lambda: a_host().pod(manifest(**parts))


def read_in_pod(path: str, **parts: Any) -> Callable[[], object]:  # noqa: ANN401 - of a manifest
    """Return reading the file *path* in a pod."""
    return lambda: pod(**parts)().filesystem.read_bytes(ROOT, path)


def security(**context: Any) -> dict[str, Any]:  # noqa: ANN401 - of a container
    """Return a container with a security context."""
    return {"securityContext": context}


CONFIG: Final[dict[str, Any]] = {"configMap": {"name": "c"}}
MANY: Final = bytes(8192 * 1024 + 1)

# For each thing that is not modelled, all the ways in which a test meets it.
EXAMPLES: Final[dict[Limit, list[Callable[[], object]]]] = {
    Limit.PROC: [
        look("proc/self/cgroup"),
        look("proc/cmdline"),
        look("proc/sys/kernel"),
        look("proc/self/ns/mnt"),
        look("dev/stdin"),
        read("proc/keys"),
        names("proc"),
        names("proc/self"),
        lambda: a_host().filesystem.read_bytes(ROOT, "proc/kcore"),
        within("proc", lambda d: d.make_directory("cmdline", mode=0o755)),
    ],
    Limit.SYS: [look("sys/fs/cgroup"), look("sys/dev/char/1:3"), names("sys")],
    Limit.KERNEL_FILE_OWNERS: [
        within("proc", lambda d: d.mend("devices", expected=d.lstat("devices"), mode=0o400)),
        within("dev", lambda d: d.mend("pts", expected=d.lstat("pts"), uid=1)),
    ],
    Limit.QUEUES: [within("dev/mqueue", lambda d: d.write_file("q", b"", mode=0o600))],
    Limit.SIZE: [within("host-dev", lambda d: d.write_file("f", MANY, mode=0o600))],
    Limit.NESTED_USERS: [
        lambda: a_host().container(user_namespace=True).container(user_namespace=True)
    ],
    Limit.PRIVILEGED_USERS: [
        start(privileged=True, user_namespace=True),
        lambda: a_host().container(user_namespace=True).container(privileged=True),
    ],
    Limit.IDMAP: [pod(hostUsers=False), start(mounts=["/a:/b:ro,idmap"])],
    Limit.UNBINDABLE: [
        start(mounts=["/a:/b:runbindable"]),
        lambda: a_host().propagation("/", "unbindable"),  # type: ignore[arg-type]  # at run time
        lambda: a_host().bind("/etc", "/b", propagation="unbindable"),  # type: ignore[arg-type]  # likewise
    ],
    Limit.LABELS: [
        start(mounts=["/a:/b:Z"]),
        pod(container=security(seLinuxOptions={"type": "spc_t"})),
        pod(securityContext={"seLinuxOptions": {"type": "spc_t"}}),
        pod(securityContext={"seccompProfile": {"type": "Localhost"}}),
        pod(container=security(appArmorProfile={"type": "Localhost"})),
    ],
    Limit.MOUNT_OPTIONS: [start(mounts=["/a:/b:noatime"])],
    Limit.RUNTIME_CLASS: [pod(runtimeClassName="nvidia")],
    Limit.DEVICES_OF_CLAIMS: [
        pod(container={"resources": {"limits": {"nvidia.com/gpu": 1}}}),
        pod(container={"resources": {"requests": {"nvidia.com/gpu": 1}}}),
        pod(container={"resources": {"claims": [{"name": "gpu"}]}}),
    ],
    Limit.PROCESS_NAMESPACE: [pod(shareProcessNamespace=True)],
    Limit.PROC_MOUNT: [pod(container=security(procMount="Unmasked"))],
    Limit.RAW_DEVICES: [pod(container={"volumeDevices": [{"name": "d", "devicePath": "/d"}]})],
    Limit.VOLUME_KINDS: [pod(volume={"nfs": {"server": "s", "path": "/"}})],
    Limit.VOLUME_CONTENT: [
        read_in_pod("v/key", volume=CONFIG),
        read_in_pod("run/secrets/kubernetes.io/serviceaccount/token"),
        lambda: pod(volume=CONFIG)().filesystem.open_directory(ROOT, "v").names(),
    ],
    Limit.RUNTIME_FILES: [
        read_in_pod("etc/hosts"),
        read_in_pod("etc/hostname"),
        read_in_pod("etc/resolv.conf"),
    ],
    Limit.SUB_PATH_EXPRESSION: [
        pod(volume={"hostPath": {"path": "/x"}}, mount={"subPathExpr": "$(X)"}),
        pod(mount={"subPathExpr": "$(X)"}),
        pod(volume=CONFIG, mount={"subPath": "key"}),
    ],
    Limit.WINDOWS: [pod(os={"name": "windows"})],
}
CASES: Final = [
    pytest.param(limit, action, id=f"{limit.name}-{number}")
    for limit, actions in EXAMPLES.items()
    for number, action in enumerate(actions)
]


def test_every_limit_has_an_example() -> None:
    """Nothing is called not modelled without a way to meet it."""
    assert [*EXAMPLES] == [*Limit]


@pytest.mark.parametrize(("limit", "action"), CASES)
def test_what_is_not_modelled_raises(limit: Limit, action: Callable[[], object]) -> None:
    """Whatever would depend on it is an error that says so and names the way out."""
    with pytest.raises(NotModelledError) as caught:
        action()
    assert (caught.value.what, caught.value.remedy) == (limit.what, limit.remedy)
    assert not isinstance(caught.value, OSError)


def test_the_list_in_the_documentation() -> None:
    """The page lists what raises, in the same words, and nothing else."""
    section = SECTION.search(PAGE.read_text(encoding="utf-8"))
    assert section is not None
    assert ROW.findall(section[1]) == [(limit.what, limit.remedy) for limit in Limit]


def test_every_public_name_is_in_the_documentation() -> None:
    """The page tells of each name of the testing kit, and of each of their methods."""
    text = PAGE.read_text(encoding="utf-8")
    for name in devroot_testing.__all__:
        assert f"`{name}`" in text, name
        value: type[object] = getattr(devroot_testing, name)
        members: Iterable[str] = dir(value) if name.startswith("Fake") else ()
        for member in filter(re.compile("[a-z]").match, members):
            assert re.search(rf"`{member}\b", text), f"{name}.{member}"


def test_files_of_proc_that_are_given() -> None:
    """A file of ``/proc`` that a test gives is there, and one that it takes away is not."""
    host = a_host()
    container = host.container()
    host.proc_file("cmdline", "quiet\n")
    host.proc_file("1/cgroup", "0::/\n")
    assert container.filesystem.read_bytes(ROOT, "proc/cmdline") == b"quiet\n"
    assert container.filesystem.read_bytes(ROOT, "proc/self/cgroup") == b"0::/\n"
    host.proc_file("cmdline", None)
    for gone in ("proc/cmdline", "proc/77", "proc/driver/none"):
        with pytest.raises(FileNotFoundError):
            container.filesystem.status(ROOT, gone)


def test_devices_in_sys() -> None:
    """With a `FakeUdev` it is known which devices there are."""
    host = a_host()
    udev = FakeUdev(host)
    container = host.container()
    udev.plug("x0", major=240, minor=0, subsystem="x")
    assert container.filesystem.read_link(ROOT, "sys/dev/char/240:0").endswith("/x/x0")
    with pytest.raises(FileNotFoundError):
        container.filesystem.status(ROOT, "sys/dev/char/240:1")


def test_content_that_is_given() -> None:
    """What the kubelet would write is read once a test has given it."""
    container = pod(volume=CONFIG)()
    container.file("/etc/hosts", "127.0.0.1 localhost\n")
    container.file("/v/key", "value")
    files = container.filesystem
    assert files.read_bytes(ROOT, "etc/hosts") == b"127.0.0.1 localhost\n"
    assert files.read_bytes(ROOT, "v/key") == b"value"


def test_what_fits_in() -> None:
    """As long as it fits in, a file is written, and another name of it takes no room."""
    host = a_host()
    with host.filesystem.open_directory(ROOT, "dev") as directory:
        directory.write_file("f", MANY[1:], mode=0o600)
        directory.link("f", directory, "g")
        directory.write_file("empty", b"", mode=0o600)
        directory.make_node("n", type=FileType.FIFO, major=0, minor=0, mode=0o600)
        with pytest.raises(NotModelledError):
            directory.write_file("h", b"x", mode=0o600)
        assert "h" not in directory.names()
