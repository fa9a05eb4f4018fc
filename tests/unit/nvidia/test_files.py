"""The NVIDIA driver's files: where distributions put them, and which version they are."""

from __future__ import annotations

import contextlib
import copy
import pickle
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from devroot._driver_root import DriverRoot
from devroot._filesystem import FileType
from devroot._findings import Obstacle
from devroot._mounts import Mount, MountTable
from devroot._paths import ContainerPath, HostPath
from devroot._view import ContainerView
from devroot.errors import (
    DriverFileError,
    DriverRootError,
    DriverVersionError,
    InvalidPathError,
    NotMountedError,
    PathKindError,
)
from devroot.nvidia._files import (
    BINARY_DIRECTORIES,
    CONFIGURATION_DIRECTORIES,
    FIRMWARE_DIRECTORIES,
    LIBRARY_DIRECTORIES,
    DriverFiles,
)
from devroot.testing import TreeFileSystem, scenario
from tests._ldcaches import library, written
from tests._systems import LOCAL, TREE, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devroot._findings import DriverFile

    Rooted = Callable[..., DriverRoot]

ML: Final = "libnvidia-ml.so.1"
SMI: Final = "nvidia-smi"


@pytest.fixture(params=(*LOCAL, TREE))
def rooted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rooted]:
    """Return what gives a driver root with given files, on each file system in turn."""
    with contextlib.ExitStack() as stack:

        def give(*specs: str, host: str = "/", below: str = "") -> DriverRoot:
            system = stack.enter_context(opened(request.param, tmp_path, ["dir /", *specs]))
            return DriverRoot(
                host=host,
                container=f"{system.root}{below}",
                view=ContainerView(filesystem=system.filesystem),
            )

        yield give


def files_of(*specs: str) -> DriverFiles:
    """Return the driver files of a tree in memory with these files."""
    tree = TreeFileSystem(["dir /driver-root", *specs])
    view = ContainerView(filesystem=tree)
    return DriverFiles(DriverRoot(host="/opt/nvidia", container="/driver-root", view=view))


def nothing(find: Callable[[str], object], name: str) -> bool:
    """Whether a search fails as one that found nothing does."""
    with pytest.raises(DriverFileError, match=name):
        find(name)
    return True


# Drivers as distributions install them.

MULTIARCH: Final = "/usr/lib/x86_64-linux-gnu"
ALTERNATIVE: Final = "/etc/alternatives/nvidia--libnvidia-ml.so.1-x86_64-linux-gnu"
DEBIAN: Final = (
    "link /lib usr/lib",
    "link /usr/bin/nvidia-smi /etc/alternatives/nvidia--nvidia-smi",
    "link /etc/alternatives/nvidia--nvidia-smi /usr/lib/nvidia/current/nvidia-smi",
    "file /usr/lib/nvidia/current/nvidia-smi 0755",
    f"link {MULTIARCH}/libnvidia-ml.so.1 {ALTERNATIVE}",
    f"link {ALTERNATIVE} {MULTIARCH}/nvidia/current/libnvidia-ml.so.1",
    f"link {MULTIARCH}/nvidia/current/libnvidia-ml.so.1 libnvidia-ml.so.530.30.02",
    f"file {MULTIARCH}/nvidia/current/libnvidia-ml.so.530.30.02 0644",
)
DEBIAN_ML: Final = "usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.530.30.02"


@pytest.mark.parametrize("given", [False, True])
def test_debian_keeps_the_driver_behind_alternatives(rooted: Rooted, given: bool) -> None:  # noqa: FBT001 - two runs of one test
    """Each absolute link of the chain is meant from the driver root, so the files are found.

    NVIDIA/gpu-operator#378: this container has none of the alternatives, and the links were
    taken for its own.
    """
    root = rooted(*DEBIAN)
    files = DriverFiles(root)
    if given:
        libraries = ("/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu")
        files = DriverFiles(root, library_directories=libraries, binary_directories=("/usr/bin",))
    smi = files.binary(SMI)
    assert smi.container == root.container / "usr/lib/nvidia/current/nvidia-smi"
    assert smi.host == HostPath("/usr/lib/nvidia/current/nvidia-smi")
    ml = files.library(ML)
    assert ml.container == root.container / DEBIAN_ML
    assert ml.host == HostPath("/") / DEBIAN_ML
    assert files.version().text == "530.30.02"


def test_debian_without_its_alternatives(rooted: Rooted) -> None:
    """Where the alternatives are lost, the driver's own directories still have the files."""
    root = rooted(*(spec for spec in DEBIAN if not spec.startswith("link /etc")))
    files = DriverFiles(root)
    assert files.library(ML).container == root.container / DEBIAN_ML
    assert files.binary(SMI).asked == "/usr/lib/nvidia/current/nvidia-smi"
    obstacles = [each.obstacle for each in files.library(ML).passed_over]
    assert Obstacle.DANGLING in obstacles


def test_directory_that_shadows_the_library(rooted: Rooted) -> None:
    """An empty directory of the library's name is no library, and the answer says so.

    kubernetes-sigs/dra-driver-nvidia-gpu#1272: a container engine had made it, for a bind mount
    without a source.
    """
    root = rooted(
        "dir /usr/lib64/libnvidia-ml.so.1",
        "link /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1 libnvidia-ml.so.570.133.20",
        "file /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.570.133.20 0755",
    )
    found = DriverFiles(root).library(ML)
    place = "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.570.133.20"
    assert found.container == root.container / place
    assert found.host == HostPath("/") / place
    assert [(each.path, each.reason) for each in found.passed_over] == [
        (f"{root.container}/usr/lib64/libnvidia-ml.so.1", "not a regular file (directory)")
    ]


TALOS: Final = (
    "file /usr/local/bin/nvidia-smi 0755",
    "link /usr/local/glibc/lib/libnvidia-ml.so.1 libnvidia-ml.so.550.90.07",
    "file /usr/local/glibc/lib/libnvidia-ml.so.550.90.07 0755",
    "dir /dev",
    "dir /usr/lib",
    "dir /usr/bin",
)


def test_older_talos_needs_a_directory_of_its_own(rooted: Rooted) -> None:
    """Talos had the libraries in ``glibc/lib`` once, which is for the caller to add.

    kubernetes-sigs/dra-driver-nvidia-gpu#605: the driver root is /usr/local, and nothing is in
    the usual places of /. Which root has the dev directory is another question.
    """
    top = rooted(*TALOS)
    assert nothing(DriverFiles(top).binary, SMI)
    assert nothing(DriverFiles(top).library, ML)
    assert top.resolve("/dev") == top.container / "dev"
    local = DriverRoot(host="/usr/local", container=top.container / "usr/local", view=top.view)
    files = DriverFiles(local)
    assert files.binary(SMI).host == HostPath("/usr/local/bin/nvidia-smi")
    assert nothing(files.library, ML)
    with pytest.raises(FileNotFoundError):
        local.resolve("/dev")
    more = DriverFiles(local, library_directories=(*LIBRARY_DIRECTORIES, "/glibc/lib"))
    assert more.library(ML).host == HostPath("/usr/local/glibc/lib/libnvidia-ml.so.550.90.07")
    assert more.binary(SMI).host == HostPath("/usr/local/bin/nvidia-smi")


@pytest.mark.parametrize("below", ["", "/usr/local"])
def test_newer_talos(rooted: Rooted, below: str) -> None:
    """Since the libraries are in ``glibc/usr/lib`` they are found from either driver root."""
    root = rooted(
        "link /usr/local/glibc/usr/lib/libcuda.so.1 libcuda.so.580.105.08",
        "file /usr/local/glibc/usr/lib/libcuda.so.580.105.08 0755",
        host=below or "/",
        below=below,
    )
    found = DriverFiles(root).library("libcuda.so.1")
    assert found.host == HostPath("/usr/local/glibc/usr/lib/libcuda.so.580.105.08")


def test_gke() -> None:
    """The driver root itself has ``bin``, ``lib64``, ``firmware`` and ``vulkan``."""
    scene = scenario("gke")
    scene.filesystem.add(
        "file /driver-root/firmware/nvidia/580.65.06/gsp_ga10x.bin",
        "file /driver-root/vulkan/icd.d/nvidia_icd.json",
    )
    files = DriverFiles(scene.driver_root)
    top = HostPath("/home/kubernetes/bin/nvidia")
    assert files.library("libcuda.so.1").host == top / "lib64/libcuda.so.580.65.06"
    assert files.binary("nvidia-smi").host == top / "bin/nvidia-smi"
    assert files.configuration("vulkan/icd.d/nvidia_icd.json").host == (
        top / "vulkan/icd.d/nvidia_icd.json"
    )
    (firmware,) = files.firmware()
    assert firmware.host == top / "firmware/nvidia/580.65.06/gsp_ga10x.bin"
    assert str(files.version()) == "580.65.06"


def test_nixos(rooted: Rooted) -> None:
    """The usual places are links into the store, all of them absolute."""
    root = rooted(
        "link /run/opengl-driver /nix/store/abc-drivers",
        "link /nix/store/abc-drivers/lib/libcuda.so.1 /nix/store/def-nvidia/lib/libcuda.so.1",
        "link /nix/store/def-nvidia/lib/libcuda.so.1 libcuda.so.565.77",
        "file /nix/store/def-nvidia/lib/libcuda.so.565.77",
        "link /run/current-system /nix/store/ghi-system",
        "link /nix/store/ghi-system/sw/bin/nvidia-smi /nix/store/jkl-nvidia-bin/bin/nvidia-smi",
        "file /nix/store/jkl-nvidia-bin/bin/nvidia-smi 0555",
    )
    files = DriverFiles(root)
    assert files.library("libcuda.so.1").host == (
        HostPath("/nix/store/def-nvidia/lib/libcuda.so.565.77")
    )
    assert files.binary("nvidia-smi").host == HostPath("/nix/store/jkl-nvidia-bin/bin/nvidia-smi")
    assert files.version().text == "565.77"


def test_wsl_has_libraries_without_a_version() -> None:
    """There the driver is that of Windows, and no name tells its version."""
    files = files_of(
        "file /driver-root/usr/lib/wsl/lib/libcuda.so.1 0555",
        "file /driver-root/usr/lib/wsl/lib/nvidia-smi 0555",
    )
    assert files.binary("nvidia-smi").asked == "/usr/lib/wsl/lib/nvidia-smi"
    assert files.library("libcuda.so.1").asked == "/usr/lib/wsl/lib/libcuda.so.1"
    with pytest.raises(DriverFileError, match=r"libcuda\.so\.1 tells no version") as caught:
        files.version()
    assert caught.value.filename == "libcuda.so.VERSION or libnvidia-ml.so.VERSION"
    places = [
        each.path for each in caught.value.passed_over if each.obstacle is Obstacle.NO_VERSION
    ]
    assert places == ["/driver-root/usr/lib/wsl/lib/libcuda.so.1"]


# What is asked for, and where.


def test_library_in_the_cache_only() -> None:
    """An installation in a place of its own is found through the driver root's ldconfig."""
    files = files_of("file /driver-root/opt/lib/libcuda.so.550.90.07")
    tree = files.driver_root.view.filesystem
    assert isinstance(tree, TreeFileSystem)
    tree.symlink("/driver-root/opt/lib/libcuda.so.1", "libcuda.so.550.90.07")
    cache = written([library("libcuda.so.1", "/opt/lib/libcuda.so.1")])
    tree.file("/driver-root/etc/ld.so.cache", cache)
    assert files.library("libcuda.so.1").host == HostPath(
        "/opt/nvidia/opt/lib/libcuda.so.550.90.07"
    )
    assert [found.asked for found in files.libraries("libcuda.so.*.*")] == [
        "/opt/lib/libcuda.so.550.90.07"
    ]
    assert files.version().text == "550.90.07"
    without = DriverFiles(files.driver_root, cache=None)
    assert nothing(without.library, "libcuda.so.1")
    assert len(without.libraries("libcuda*")) == 0


def test_libraries_by_pattern() -> None:
    """All libraries that match are given, the newest first."""
    files = files_of(
        "file /driver-root/usr/lib64/libnvidia-ml.so.550.90.07",
        "file /driver-root/usr/lib64/libcuda.so.550.90.07",
        "file /driver-root/usr/lib64/libcuda.so.535.54.03",
        "link /driver-root/usr/lib64/libcuda.so.1 libcuda.so.550.90.07",
    )
    assert [found.asked for found in files.libraries("libcuda.so.*.*").require()] == [
        "/usr/lib64/libcuda.so.550.90.07",
        "/usr/lib64/libcuda.so.535.54.03",
    ]


def test_programs_and_configuration_are_not_in_the_cache() -> None:
    """A search for them never reads it, and does not mention it."""
    files = files_of("file /driver-root/etc/ld.so.cache\nbroken")
    for find, directories in (
        (files.binary, BINARY_DIRECTORIES),
        (files.configuration, CONFIGURATION_DIRECTORIES),
    ):
        with pytest.raises(DriverFileError) as caught:
            find("x")
        assert [each.path for each in caught.value.passed_over] == [
            f"/driver-root{directory.rstrip('/')}/x" for directory in directories
        ]


def test_configuration_in_the_first_place_that_has_it() -> None:
    """What an administrator puts into /etc comes before what the package has."""
    files = files_of(
        "file /driver-root/usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json",
        "file /driver-root/etc/nvidia/gridd.conf",
    )
    assert files.configuration("egl/egl_external_platform.d/15_nvidia_gbm.json").asked == (
        "/usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json"
    )
    assert files.configuration("nvidia/gridd.conf").asked == "/etc/nvidia/gridd.conf"


def test_firmware_is_that_of_the_libraries() -> None:
    """By default the version decides, and the firmware of another one is not given."""
    files = files_of(
        "file /driver-root/usr/lib64/libcuda.so.550.90.07",
        "file /driver-root/lib/firmware/nvidia/535.54.03/gsp_ga10x.bin",
        "file /driver-root/lib/firmware/nvidia/550.90.07/gsp_ga10x.bin",
        "file /driver-root/lib/firmware/nvidia/550.90.07/gsp_tu10x.bin",
        "file /driver-root/lib/firmware/nvidia/550.90.07/other",
    )
    place = "/lib/firmware/nvidia/550.90.07"
    assert [found.asked for found in files.firmware()] == [
        f"{place}/gsp_ga10x.bin",
        f"{place}/gsp_tu10x.bin",
    ]
    assert [found.asked for found in files.firmware("*")][-1] == f"{place}/other"
    older = files.firmware(version="535.54.03")
    assert [found.asked for found in older] == ["/lib/firmware/nvidia/535.54.03/gsp_ga10x.bin"]
    absent = files.firmware(version="1")
    assert len(absent) == 0
    assert len(absent.passed_over) == len(FIRMWARE_DIRECTORIES)


def test_lists_of_directories_can_be_replaced() -> None:
    """Each list is the caller's, and any iterable of texts will do."""
    root = files_of(
        "file /driver-root/l/libx.so",
        "file /driver-root/b/x",
        "file /driver-root/c/x.conf",
        "file /driver-root/f/nvidia/1.2/gsp.bin",
    ).driver_root
    files = DriverFiles(
        root,
        library_directories=["/l"],
        binary_directories=iter(["/b"]),
        configuration_directories=("/c",),
        firmware_directories=("/f",),
    )
    assert files.library("libx.so").asked == "/l/libx.so"
    assert files.binary("x").asked == files.binary("x").asked == "/b/x"
    assert files.configuration("x.conf").asked == "/c/x.conf"
    assert [found.asked for found in files.firmware(version="1.2")] == ["/f/nvidia/1.2/gsp.bin"]


@pytest.mark.parametrize(
    ("directories", "error"),
    [("/usr/lib64", PathKindError), ([7], PathKindError), ([""], InvalidPathError)],
)
def test_list_of_directories_that_is_none(directories: object, error: type[Exception]) -> None:
    """A mistake shows where it is made, not at the first search."""
    root = files_of().driver_root
    with pytest.raises(error):
        DriverFiles(root, library_directories=directories)  # type: ignore[arg-type]


def test_driver_root_that_is_not_there() -> None:
    """No search says that all files are missing one by one."""
    root = files_of().driver_root
    files = DriverFiles(DriverRoot(host="/opt/nvidia", container="/nowhere", view=root.view))
    with pytest.raises(DriverRootError):
        files.library(ML)
    with pytest.raises(DriverRootError):
        files.version()


# The version.


def paths(files: tuple[DriverFile, ...]) -> list[str]:
    """Return where files are in the container."""
    return [str(file.container) for file in files]


def test_version_of_what_programs_load() -> None:
    """An older library that lies next to it does not decide, and is reported."""
    lib = "/driver-root/usr/lib64"
    files = files_of(
        f"file {lib}/libcuda.so.535.54.03",
        f"file {lib}/libcuda.so.550.90.07",
        f"link {lib}/libcuda.so.1 libcuda.so.550.90.07",
        f"file {lib}/libnvidia-ml.so.550.90.07",
        f"link {lib}/libnvidia-ml.so.1 libnvidia-ml.so.550.90.07",
    )
    version = files.version()
    assert version.text == str(version) == "550.90.07"
    assert paths(version.files) == [
        f"{lib}/libcuda.so.550.90.07",
        f"{lib}/libnvidia-ml.so.550.90.07",
    ]
    assert paths(version.others) == [f"{lib}/libcuda.so.535.54.03"]


def test_version_without_the_usual_names() -> None:
    """Where ldconfig has not run, there is only the name with the version."""
    files = files_of(
        "file /driver-root/usr/lib64/libcuda.so.390.157",
        "dir /driver-root/usr/lib64/libcuda.so.1",
    )
    assert files.version().text == "390.157"


def test_libraries_that_disagree() -> None:
    """Two versions that programs would load together are told with their places."""
    lib = "/driver-root/usr/lib64"
    files = files_of(
        f"file {lib}/libcuda.so.535.54.03",
        f"link {lib}/libcuda.so.1 libcuda.so.535.54.03",
        f"file {lib}/libnvidia-ml.so.550.90.07",
    )
    with pytest.raises(DriverVersionError) as caught:
        files.version()
    error = caught.value
    assert isinstance(error, ValueError)
    assert error.found == (
        ("535.54.03", ContainerPath(f"{lib}/libcuda.so.535.54.03")),
        ("550.90.07", ContainerPath(f"{lib}/libnvidia-ml.so.550.90.07")),
    )
    assert f"535.54.03: {lib}/libcuda.so.535.54.03" in str(error)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (str(other), vars(other)) == (str(error), vars(error))


def test_libraries_without_usual_names_that_disagree() -> None:
    """Nothing tells then which one would be loaded."""
    files = files_of(
        "file /driver-root/usr/lib64/libcuda.so.535.54.03",
        "file /driver-root/usr/lib64/libcuda.so.550.90.07",
    )
    with pytest.raises(DriverVersionError, match=r"550\.90\.07"):
        files.version()


@pytest.mark.parametrize(
    "name", ["libcuda.so.1.1", "libcuda.so.550.x", "libcuda.so.5.90.07", "libcuda.so.550.90.07.1"]
)
def test_names_that_tell_no_version(name: str) -> None:
    """Tegra's libcuda.so.1.1 is not of a driver 1.1, and nothing is guessed from the others."""
    files = files_of(f"file /driver-root/usr/lib64/{name}")
    with pytest.raises(DriverFileError, match=f"its name {name} tells no version"):
        files.version()


def test_no_library_at_all() -> None:
    """The error lists each place once."""
    with pytest.raises(DriverFileError) as caught:
        files_of().version()
    listed = caught.value.passed_over
    assert len(set(listed)) == len(listed) > 2 * len(LIBRARY_DIRECTORIES)


# Links whose targets are host paths.

CHAR: Final = "/host-dev-char"
DRIVER_DEV: Final = "/run/nvidia/driver/dev"


def test_links_by_number_have_host_paths_as_targets() -> None:
    """Whoever reads ``/dev/char`` through a mount maps each target back to see what it names.

    NVIDIA/gpu-operator#531: the links are read on the host, so their targets hold there.
    """
    mounts = MountTable(
        [
            Mount(host="/dev/char", container=CHAR),
            Mount(host="/run/nvidia/driver", container="/run/nvidia/driver"),
        ]
    )
    tree = TreeFileSystem(
        [
            f"link {CHAR}/195:255 {DRIVER_DEV}/nvidiactl",
            f"link {CHAR}/509:1 {DRIVER_DEV}/nvidia-caps/nvidia-cap1",
            f"link {CHAR}/509:95 {DRIVER_DEV}/nvidia-caps/nvidia-cap95",
            f"link {CHAR}/511:1 {DRIVER_DEV}/nvidia-caps/nvidia-cap1",
            f"link {CHAR}/1:3 ../null",
            f"link {CHAR}/10:1 /etc/passwd",
            f"char {DRIVER_DEV}/nvidiactl 195:255",
            f"char {DRIVER_DEV}/nvidia-caps/nvidia-cap1 509:1 0400",
            f"char {DRIVER_DEV}/nvidia-caps/nvidia-cap2 509:2 0444",
        ]
    )
    driver_root = DriverRoot(
        host="/run/nvidia/driver",
        container="/run/nvidia/driver",
        view=ContainerView(filesystem=tree, mounts=mounts),
    )

    def state(number: str) -> str:
        target = tree.read_link(ContainerPath(CHAR), number)
        try:
            place = mounts.to_container(HostPath(target))
            status = tree.status(driver_root.container, place.relative_to(driver_root.container))
        except FileNotFoundError:
            return "dangling"
        except NotMountedError:
            return "not to be seen from here"
        except InvalidPathError:
            return "relative"
        assert status.type is FileType.CHARACTER
        right = number == f"{status.major}:{status.minor}"
        return "right" if right else f"wrong, {status.major}:{status.minor}"

    with tree.open_directory(ContainerPath(CHAR), "/") as directory:
        states = {number: state(number) for number in directory.names()}
    assert states == {
        "195:255": "right",
        "509:1": "right",
        "509:95": "dangling",
        "511:1": "wrong, 509:1",
        "1:3": "relative",
        "10:1": "not to be seen from here",
    }
    missing = driver_root.resolve("/dev/nvidia-caps/nvidia-cap2")
    assert driver_root.to_host(missing) == HostPath(f"{DRIVER_DEV}/nvidia-caps/nvidia-cap2")
    with pytest.raises(InvalidPathError):
        driver_root.to_host(ContainerPath(CHAR) / "509:2")


# The page about it.

PAGE: Final = (Path(__file__).parents[3] / "docs/how-to/find-driver-files.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "directories"),
    [
        ("LIBRARY_DIRECTORIES", LIBRARY_DIRECTORIES),
        ("BINARY_DIRECTORIES", BINARY_DIRECTORIES),
        ("CONFIGURATION_DIRECTORIES", CONFIGURATION_DIRECTORIES),
        ("FIRMWARE_DIRECTORIES", FIRMWARE_DIRECTORIES),
    ],
)
def test_page_has_every_directory(name: str, directories: tuple[str, ...]) -> None:
    """The lists in the page are those of the code, in the same order."""
    (row,) = re.findall(rf"^\| `{name}` \| (.*) \|$", PAGE, re.MULTILINE)
    assert row == ", ".join(f"`{directory}`" for directory in directories)


def test_page_has_every_obstacle() -> None:
    """Each kind of reason is explained, in the order of the code."""
    assert re.findall(r"^\| `([A-Z_]+)` \| (?!`)", PAGE, re.MULTILINE) == [
        obstacle.name for obstacle in Obstacle
    ]
