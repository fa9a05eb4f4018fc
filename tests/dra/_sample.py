"""The sample driver that the framework brings, which writes its spec by hand."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from tests.dra._packages import needed

if TYPE_CHECKING:
    from pathlib import Path

sample: Any = needed("pydra.plugins.tpu.driver")


def written_by_the_sample(directory: Path) -> list[dict[str, Any]]:
    """Return the specs that are in a directory after the sample has prepared a claim in it."""
    driver = sample.TpuDraPlugin(f"{directory}/plugin.sock", cdi_dir=str(directory))
    asyncio.run(driver.prepare_hardware("some-uid", "default", "some"))
    return [json.loads(path.read_text("utf-8")) for path in directory.glob("*.json")]
