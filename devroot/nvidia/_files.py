"""Where the files of the NVIDIA driver are: libraries, programs, configuration, firmware."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

import attrs

from devroot._find import LD_SO_CACHE, as_texts
from devroot._findings import Obstacle, PassedOver
from devroot.errors import DriverFileError, DriverVersionError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devroot._driver_root import DriverRoot
    from devroot._findings import DriverFile, Findings

LIBRARY_DIRECTORIES: Final[tuple[str, ...]] = (
    "/usr/lib64",  # RHEL, SUSE, Arch and others
    "/usr/lib/x86_64-linux-gnu",  # Debian, Ubuntu, and so the driver container
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",  # Debian, behind its alternatives
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/lib64",  # GKE, whose driver root is /home/kubernetes/bin/nvidia
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu/nvidia/current",
    "/lib/aarch64-linux-gnu/nvidia/current",
    "/usr/local/glibc/usr/lib",  # Talos, if the driver root is /
    "/glibc/usr/lib",  # Talos, if it is /usr/local
    "/run/opengl-driver/lib",  # NixOS
    "/usr/lib/wsl/lib",  # Windows Subsystem for Linux
)
"""Where the driver's libraries of 64 bits are, as seen from the driver root.

.. versionadded:: 0.1.0
"""

BINARY_DIRECTORIES: Final[tuple[str, ...]] = (
    "/opt/bin",
    "/usr/bin",
    "/usr/sbin",
    "/bin",  # GKE; Talos, if the driver root is /usr/local
    "/sbin",
    "/usr/lib/nvidia/current",  # Debian, behind its alternatives
    "/run/current-system/sw/bin",  # NixOS
    "/usr/lib/wsl/lib",  # Windows Subsystem for Linux
)
"""Where the driver's programs are, as seen from the driver root.

.. versionadded:: 0.1.0
"""

CONFIGURATION_DIRECTORIES: Final[tuple[str, ...]] = (
    "/etc",
    "/usr/local/share",
    "/usr/share",
    "/run/opengl-driver/share",  # NixOS
    "/",  # GKE: its vulkan/icd.d lies in the driver root itself
)
"""Where names such as ``vulkan/icd.d/nvidia_icd.json`` are, as seen from the driver root.

.. versionadded:: 0.1.0
"""

FIRMWARE_DIRECTORIES: Final[tuple[str, ...]] = (
    "/lib/firmware/updates",  # those of the kernel, but for its release and firmware_class.path
    "/lib/firmware",
    "/usr/lib/firmware",
    "/firmware",  # GKE
    "/run/current-system/firmware",  # NixOS
)
"""Where the directory ``nvidia/VERSION`` with the firmware is, as seen from the driver root.

.. versionadded:: 0.1.0
"""

_WITH_VERSION: Final = ("libcuda.so", "libnvidia-ml.so")
# The numbers of branches have three digits; the libcuda.so.1.1 of Tegra is not of branch 1.
_VERSION: Final = re.compile(r"\.so\.([0-9]{3,4}\.[0-9]{1,3}(?:\.[0-9]{1,3})?)\Z", re.ASCII)


@final
@attrs.frozen(kw_only=True)
class DriverVersion:
    """The version of the driver's libraries.

    Attributes:
        text: the version, such as ``550.90.07``.
        files: the libraries whose names tell it, of those that a program would load.
        others: libraries of other versions that lie about, such as an older installation left
            behind. No program loads them by their usual names, but a pattern finds them.

    .. versionadded:: 0.1.0
    """

    text: str
    files: tuple[DriverFile, ...]
    others: tuple[DriverFile, ...] = ()

    def __str__(self) -> str:
        return self.text


@final
@attrs.frozen
class DriverFiles:
    """The files of the NVIDIA driver in a driver root.

    Every link is followed inside the driver root, only regular files count, and each answer has
    the path in this container, the one on the host, and what was passed over before it. See
    `DriverRoot.find` for names and `DriverRoot.find_all` for patterns.

    Attributes:
        driver_root: where the driver is.
        library_directories: where to look for libraries, in this order, as seen from the driver
            root. To look into more than the usual: ``(*LIBRARY_DIRECTORIES, "/glibc/lib")``.
        binary_directories: likewise for programs.
        configuration_directories: likewise for configuration files.
        firmware_directories: likewise for what holds ``nvidia/VERSION``.
        cache: the ``ld.so.cache`` in the driver root that is asked last for libraries; None for
            none. A broken one is passed over.

    Raises:
        InvalidPathError: a directory is empty, or holds a NUL.
        PathKindError: a list of directories is one text, or holds something else than texts.

    .. versionadded:: 0.1.0
    """

    driver_root: DriverRoot
    library_directories: tuple[str, ...] = attrs.field(
        default=LIBRARY_DIRECTORIES, converter=as_texts, kw_only=True
    )
    binary_directories: tuple[str, ...] = attrs.field(
        default=BINARY_DIRECTORIES, converter=as_texts, kw_only=True
    )
    configuration_directories: tuple[str, ...] = attrs.field(
        default=CONFIGURATION_DIRECTORIES, converter=as_texts, kw_only=True
    )
    firmware_directories: tuple[str, ...] = attrs.field(
        default=FIRMWARE_DIRECTORIES, converter=as_texts, kw_only=True
    )
    cache: str | None = attrs.field(default=LD_SO_CACHE, kw_only=True)

    def library(self, name: str) -> DriverFile:
        """Return a library by its name, such as ``libnvidia-ml.so.1``.

        Raises:
            DriverFileError: there is none; it lists every candidate.
            DriverRootError: the driver root is no directory.
            OSError: as from `DriverRoot.find`; its other errors likewise.
        """
        return self.driver_root.find(name, directories=self.library_directories, cache=self.cache)

    def libraries(self, pattern: str) -> Findings:
        """Return all libraries that match a pattern, such as ``libcuda.so.*.*``.

        Raises:
            DriverRootError: the driver root is no directory.
            OSError: as from `DriverRoot.find_all`; its other errors likewise.
        """
        return self.driver_root.find_all(
            pattern, directories=self.library_directories, cache=self.cache
        )

    def binary(self, name: str) -> DriverFile:
        """Return a program by its name, such as ``nvidia-smi``.

        Raises:
            DriverFileError: there is none; it lists every candidate.
            DriverRootError: the driver root is no directory.
            OSError: as from `DriverRoot.find`; its other errors likewise.
        """
        return self.driver_root.find(name, directories=self.binary_directories, cache=None)

    def configuration(self, name: str) -> DriverFile:
        """Return a configuration file by its name, such as ``vulkan/icd.d/nvidia_icd.json``.

        Raises:
            DriverFileError: there is none; it lists every candidate.
            DriverRootError: the driver root is no directory.
            OSError: as from `DriverRoot.find`; its other errors likewise.
        """
        return self.driver_root.find(name, directories=self.configuration_directories, cache=None)

    def firmware(self, pattern: str = "gsp*.bin", *, version: str | None = None) -> Findings:
        """Return the firmware of one version of the driver.

        Args:
            pattern: names in the directory ``nvidia/VERSION``; by default the firmware of the
                GPU System Processor.
            version: which one; None for that of the libraries.

        Raises:
            DriverFileError: no library tells a version.
            DriverRootError: the driver root is no directory.
            DriverVersionError: the libraries tell several.
            OSError: as from `DriverRoot.find_all`; its other errors likewise.
        """
        of_version = self.version().text if version is None else version
        return self.driver_root.find_all(
            f"nvidia/{of_version}/{pattern}", directories=self.firmware_directories, cache=None
        )

    def version(self) -> DriverVersion:
        """Return the version of the driver, as the names of its libraries tell it.

        What programs load decides: the files behind ``libcuda.so.1`` and ``libnvidia-ml.so.1``.
        Where those names are missing or have no version, all libraries of that kind decide.

        Raises:
            DriverFileError: no library tells a version; it lists every candidate.
            DriverRootError: the driver root is no directory.
            DriverVersionError: the libraries that decide are of several versions.
            OSError: as from `DriverRoot.find`.
        """
        deciding: dict[DriverFile, str] = {}
        all_of_them: dict[DriverFile, str] = {}
        passed_over: list[PassedOver] = []
        for name in _WITH_VERSION:
            loaded: list[DriverFile] = []
            try:
                loaded.append(self.library(f"{name}.1"))
            except DriverFileError as error:
                passed_over.extend(error.passed_over)
            findings = self.libraries(f"{name}.*.*")
            passed_over.extend(findings.passed_over)
            lying = _versions(findings, passed_over)
            all_of_them |= lying
            deciding |= _versions(loaded, passed_over) or lying
        if not deciding:
            raise DriverFileError(
                " or ".join(f"{name}.VERSION" for name in _WITH_VERSION),
                driver_root=self.driver_root.container,
                passed_over=tuple(dict.fromkeys(passed_over)),
            )
        versions = set(deciding.values())
        if len(versions) > 1:
            found = tuple((version, file.container) for file, version in deciding.items())
            raise DriverVersionError(self.driver_root.container, found=found)
        (text,) = versions
        return DriverVersion(
            text=text,
            files=tuple(deciding),
            others=tuple(file for file, version in all_of_them.items() if version != text),
        )


def _versions(files: Iterable[DriverFile], passed_over: list[PassedOver]) -> dict[DriverFile, str]:
    """Return the version that each file's name tells; those without one are passed over."""
    versions: dict[DriverFile, str] = {}
    for file in files:
        match = _VERSION.search(file.container.name)
        if match is None:
            reason = f"its name {file.container.name} tells no version"
            passed_over.append(
                PassedOver(path=str(file.container), obstacle=Obstacle.NO_VERSION, reason=reason)
            )
        else:
            versions[file] = match[1]
    return versions
