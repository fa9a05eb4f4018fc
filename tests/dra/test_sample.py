"""What `devroot.cdi` has against the specs of a driver in the field: the framework's own sample."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from devroot import ContainerView, cdi
from devroot.cdi import ProblemCode
from tests.dra._sample import sample, written_by_the_sample

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

NODE = "devices[0].containerEdits.deviceNodes[0]"
MOUNT = "devices[0].containerEdits.mounts[0]"


def test_its_problems(tmp_path: Path) -> None:
    """Its node is half described and not on the host, and its version higher than it need be."""
    (spec,) = written_by_the_sample(tmp_path)
    problems = cdi.check(spec, view=ContainerView.of_host())
    assert [(one.code, one.location, one.path) for one in problems] == [
        (ProblemCode.NEWER_VERSION, "cdiVersion", ""),
        (ProblemCode.HALF_DESCRIBED, NODE, "/dev/accel0"),
        (ProblemCode.NO_MODE, NODE, "/dev/accel0"),
        (ProblemCode.HOST_MISSING, NODE, "/dev/accel0"),
        (ProblemCode.HOST_MISSING, MOUNT, "/usr/lib/libtpu.so"),
    ]
    assert (spec["cdiVersion"], cdi.minimum_version(spec)) == ("1.1.0", "0.5.0")


def test_its_file_is_seen_before_it_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runtime that looks meanwhile reads an empty file, which one from `write` never is."""
    seen: list[str] = []
    dump = json.dump

    def watched(*args: Any, **options: Any) -> None:  # noqa: ANN401 - those of json.dump
        seen.extend(path.read_text("utf-8") for path in tmp_path.glob("*.json"))
        dump(*args, **options)

    monkeypatch.setattr(sample.json, "dump", watched)
    assert len(written_by_the_sample(tmp_path)) == 1
    assert seen == [""]
