"""Programmes for NVIDIA, CDI, Kubernetes, OCI and udev that must be accepted; never run."""

from __future__ import annotations

from typing import Any

from typing_extensions import assert_never, assert_type

from devroot import (
    ContainerPath,
    ContainerView,
    DeviceNode,
    DevicePath,
    DevRoot,
    DriverFile,
    DriverRoot,
    Fallback,
    Findings,
    HostDevFallback,
    HostPath,
    Mount,
    MountTable,
    Reach,
    SubsetFallback,
    cdi,
    kubernetes,
    nvidia,
    oci,
    udev,
)

# NVIDIA.


def read_the_driver(view: ContainerView) -> None:
    """What the driver says becomes device nodes."""
    driver = nvidia.NvidiaDriver.read(view)
    assert_type(driver, nvidia.NvidiaDriver)
    assert_type(driver.fabric_imex_mgmt(), DeviceNode)
    assert_type(driver.imex_channels(range(16)), tuple[DeviceNode, ...])
    assert_type(driver.imex_channels({0, 7}), tuple[DeviceNode, ...])
    assert_type(driver.imex_channel(0), DeviceNode)
    assert_type(driver.capability_path("mig/config"), ContainerPath)
    device = nvidia.MigDevice(gpu=0, gi=1, ci=0)
    minors = nvidia.MigMinors.read(view)
    assert_type(driver.mig_device_nodes(device, minors=minors), tuple[DeviceNode, ...])
    assert_type(minors.minor("config"), int)


def read_the_parameters(view: ContainerView) -> None:
    """A parameter that is not reported is None, or what the caller says."""
    parameters = nvidia.Parameters.read(view)
    assert_type(parameters.get("DeviceFileUID"), int | str | None)
    assert_type(parameters.get("DeviceFileUID", 0), int | str)
    assert_type(parameters.imex_channel_count, int | None)


def find_files(driver_root: DriverRoot) -> None:
    """Files of the driver have both paths, and the directories that are searched are texts."""
    files = nvidia.DriverFiles(driver_root, library_directories=nvidia.LIBRARY_DIRECTORIES[:2])
    assert_type(files.library("libcuda.so.1"), DriverFile)
    assert_type(files.library("libcuda.so.1").host, HostPath)
    assert_type(files.libraries("libcuda.so.*"), Findings)
    version = files.version()
    assert_type(version, nvidia.DriverVersion)
    assert_type(version.text, str)
    assert_type(nvidia.BINARY_DIRECTORIES, tuple[str, ...])
    assert_type(nvidia.CONFIGURATION_DIRECTORIES, tuple[str, ...])
    assert_type(nvidia.FIRMWARE_DIRECTORIES, tuple[str, ...])
    assert_type(nvidia.LIBRARY_DIRECTORIES, tuple[str, ...])


def miss_nodes(dev_root: DevRoot, driver: nvidia.NvidiaDriver) -> tuple[DeviceNode, ...]:
    """Whether a node is there has five answers, and a match that has them is complete."""
    needed = nvidia.required_nodes(driver, gpus=[0], imex_channels=range(4), modeset=True)
    found = nvidia.missing(dev_root, needed)
    assert_type(found, nvidia.NodeSet)
    for each in found.found:
        assert_type(each, nvidia.NodePresence)
        assert_type(each.reach, Reach | None)
        presence = each.presence
        match presence:
            case nvidia.Presence.OK | nvidia.Presence.UNKNOWN:
                continue
            case nvidia.Presence.MISSING | nvidia.Presence.WRONG | nvidia.Presence.PRIVATE:
                break
            case _:
                assert_never(presence)
    return found.having(nvidia.Presence.MISSING)


# CDI.


def write_a_spec(view: ContainerView, dev_root: DevRoot, node: DeviceNode) -> str:
    """A spec is a dictionary all the way, and is written in the view's directory."""
    nodes = [cdi.device_node(dev_root, node), cdi.described(node, permissions="r")]
    edits = cdi.edits(env=["A=b"], device_nodes=nodes)
    devices = [cdi.device("0", edits, annotations={"made-by": "me"})]
    spec = cdi.spec("example.com/gpu", devices)
    assert_type(spec, dict[str, Any])
    assert_type(cdi.minimum_version(spec), str)
    cdi.validate(spec)
    cdi.remove(view, cdi.file_name("example.com/gpu"), directory=cdi.STATIC_DIRECTORY)
    with dev_root.open_dev() as directory:
        cdi.write(directory, spec, directory=cdi.DYNAMIC_DIRECTORY)
    assert_type(cdi.qualified_name("example.com/gpu", "0"), str)
    return cdi.write(view, spec)


def transform_a_spec(spec: dict[str, Any], mounts: MountTable) -> None:
    """The paths of a spec go to the host and back, and strict is what is asked for."""
    assert_type(cdi.to_host(spec, mounts, strip=["/driver-root"]), dict[str, Any])
    assert_type(cdi.to_container(spec, mounts, unmapped="keep", arguments="map"), dict[str, Any])
    unmapped = cdi.UnmappedPath(location="a", path="/x", reason="no mount has it")
    assert_type(unmapped.path, str)


def check_a_spec(spec: dict[str, Any], view: ContainerView, node: DeviceNode) -> None:
    """What is required is for the whole spec, or by device."""
    found = cdi.check(spec, view=view, required=[node])
    found += cdi.check(spec, required={"0": [node]})
    assert_type(found, tuple[cdi.Problem, ...])
    assert_type([each.code for each in found], list[cdi.ProblemCode])
    assert_type(found[0].code is cdi.ProblemCode.INVALID, bool)


# Kubernetes and OCI.


def mount_as_a_pod_does(pod: dict[str, Any], needs: kubernetes.NeedsMounts) -> None:
    """A pod is a dictionary; what needs volumes is a fallback, a root, a mount or an own class."""
    assert_type(kubernetes.mount_table(pod, container="plugin"), MountTable)
    assert_type(kubernetes.mounts(pod), tuple[kubernetes.PodMount, ...])
    assert_type(kubernetes.mounts(pod)[0].mount, Mount)
    mount = Mount(host="/dev", container="/host-dev/dev")
    subset = SubsetFallback("/host-dev", ["nvidia-caps"])
    volumes = kubernetes.volumes(needs, mount, subset, types={"/dev": "Directory"})
    assert_type(volumes, kubernetes.PodVolumes)
    assert_type(volumes.entries, tuple[kubernetes.PodVolume, ...])
    types = {HostPath("/dev"): "Directory"}
    assert_type(kubernetes.add_volumes(pod, HostDevFallback(), types=types), dict[str, Any])
    problems = kubernetes.check(pod, driver_root=HostPath("/run/nvidia/driver"))
    assert_type(problems, tuple[kubernetes.Problem, ...])
    assert_type(problems[0].code, kubernetes.ProblemCode)


def mount_as_a_runtime_does(config: dict[str, Any]) -> MountTable:
    """Options become mounts, a configuration a table."""
    assert_type(oci.volume("/dev:/host-dev/dev", cwd="/"), Mount)
    assert_type(oci.mount_option("type=bind,src=/a,dst=/b", cwd=HostPath("/")), Mount)
    return oci.mount_table(config, bundle="/run/bundle")


# udev.


def list_devices(view: ContainerView, dev_root: DevRoot) -> Fallback:
    """A selection is by keywords, several texts or one."""
    catalog = udev.DeviceCatalog.of_host()
    catalog = udev.DeviceCatalog.of_sysfs("/sys", view=view)
    chosen = catalog.select(subsystem=["infiniband", "drm"], vendor=0x15B3)
    assert_type(chosen, udev.DeviceCatalog)
    assert_type(list(chosen), list[udev.Device])
    assert_type(chosen.subset(exact=True, name="infiniband/*"), tuple[DevicePath, ...])
    assert_type(chosen.by_number(231, 0, type="c").node, DeviceNode)
    assert_type(chosen.by_path("null").pci, udev.Parent | None)
    assert_type(chosen.queries, tuple[udev.Query, ...])
    assert_type(udev.missing(dev_root, chosen), udev.NodeSet)
    assert_type(udev.missing(dev_root, chosen).found, tuple[udev.NodePresence, ...])
    assert_type(udev.Presence.OK is nvidia.Presence.OK, bool)
    return SubsetFallback.of_devices("/host-dev", chosen.nodes)


def follow(dev_root: DevRoot) -> None:
    """News comes one by one, or not in time; a match over what has changed is complete."""
    with udev.watch(dev_root, replay=True) as watch:
        assert_type(watch, udev.Watch)
        assert_type(watch.poll(timeout=0.1), udev.Event | None)
        for event in watch:
            assert_type(event, udev.Event)
            assert_type(event.device, udev.Device | None)
            assert_type(event.host_path, HostPath | None)
            change = event.change
            match change:
                case udev.Change.ADDED | udev.Change.REMOVED:
                    continue
                case udev.Change.OVERFLOW | udev.Change.UNKNOWN:
                    watch.rescan()
                case _:
                    assert_never(change)
