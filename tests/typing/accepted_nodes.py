"""Programmes that make nodes and read what came of it, and must be accepted; never run."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import assert_never, assert_type

from devroot import (
    ACCEPTED,
    Action,
    ContainerPath,
    ContainerView,
    DeviceNode,
    DevicePath,
    DevRoot,
    DriverFile,
    DriverRoot,
    Evidence,
    EvidenceCode,
    FileStatus,
    FileType,
    Findings,
    HostPath,
    Majors,
    Obstacle,
    OnConflict,
    Outcome,
    PassedOver,
    Plan,
    Reach,
    Report,
    Result,
    Step,
    Verdict,
    __version__,
    apply,
    char_links,
    mknod,
    plan,
    remove,
)


def plan_and_apply(dev_root: DevRoot, nodes: list[DeviceNode], what: OnConflict) -> None:
    """A plan says what is to be done, a report what was."""
    planned = plan(dev_root, (node for node in nodes), on_conflict=what, touch_withheld=True)
    assert_type(planned, Plan)
    assert_type(planned.steps, tuple[Step, ...])
    assert_type(planned.new_directories, tuple[DevicePath, ...])
    report = apply(planned)
    assert_type(report, Report)
    assert_type(report.created, tuple[DeviceNode, ...])
    assert_type(report.outcomes, tuple[Outcome, ...])
    assert_type(report.to_dict(), dict[str, Any])
    assert_type(mknod(dev_root, nodes), Report)
    assert_type(remove(dev_root, nodes, dry_run=True), Report)
    assert_type(char_links(dev_root, set(nodes)), Report)


def tell_a_step(step: Step) -> str:
    """A match over all actions needs no other branch."""
    assert_type(step.found, FileStatus | None)
    action = step.action
    match action:
        case Action.CREATE | Action.REPAIR | Action.REMOVE:
            return "acts"
        case Action.KEEP | Action.CONFLICT | Action.WITHHELD | Action.BLOCKED:
            return "does not"
        case _:
            assert_never(action)


def tell_an_outcome(outcome: Outcome) -> str:
    """Nor does one over all results."""
    assert_type(outcome.path, DevicePath)
    result = outcome.result
    match result:
        case Result.CREATED | Result.REPAIRED | Result.REMOVED:
            return "acted"
        case Result.UNCHANGED | Result.KEPT | Result.WITHHELD | Result.FAILED:
            return "did not"
        case _:
            assert_never(result)


def read_evidence(reach: Reach) -> None:
    """Evidence has a code for programmes and a text for people."""
    assert_type(reach.evidence, tuple[Evidence, ...])
    assert_type(reach.evidence[0].code, EvidenceCode)
    assert_type(reach.evidence[0].text, str)
    assert_type(reach.evidence[0].code is EvidenceCode.JOINED, bool)


def accept_otherwise(driver_root: DriverRoot) -> None:
    """What is accepted is any collection of verdicts."""
    assert_type(ACCEPTED, frozenset[Verdict])
    driver_root.dev_root(accept=ACCEPTED | {Verdict.UNKNOWN})
    driver_root.dev_root(accept=[Verdict.HOST]).require_reach("nvidia0", accept=(Verdict.HOST,))


def describe(node: DeviceNode) -> None:
    """A node says what it is."""
    assert_type(node.type, Literal["c", "b"])
    assert_type(node.path, DevicePath)
    assert_type(node.file_type, FileType)
    assert_type(node.number, tuple[int, int])


def find(driver_root: DriverRoot) -> None:
    """A search gives files, and why each other candidate was passed over."""
    found = driver_root.find_all("libcuda.so.*", directories=["/usr/lib64"], cache=None)
    assert_type(found, Findings)
    assert_type(list(found), list[DriverFile])
    assert_type(found.passed_over, tuple[PassedOver, ...])
    assert_type(found.passed_over[0].obstacle, Obstacle)
    assert_type(driver_root.find("libcuda.so.1").host, HostPath)


def read_majors(view: ContainerView) -> None:
    """Numbers are looked up by name."""
    majors = Majors.read(view)
    assert_type(majors, Majors)
    assert_type(majors.path, ContainerPath)
    version: str = __version__
    version.split(".")
