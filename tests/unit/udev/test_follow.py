"""The page on hot-plug: its ten lines run as they stand, and so does its test."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from devroot.testing import FakeHost

PAGE = Path(__file__).parent.parent.parent.parent / "docs/how-to/follow-hot-plug.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_test_of_the_page() -> None:
    """It passes against the fake."""
    names: dict[str, Any] = {"__name__": "page"}
    for block in BLOCKS:
        exec(compile(block, PAGE.name, "exec"), names)
    names["test_the_plugin_follows_hot_plug"](FakeHost())
    assert names["SUBSET"].mounts


def test_the_plugin_is_ten_lines() -> None:
    """So many has the function that is the whole plugin."""
    _, _, body = BLOCKS[0].partition("def follow")
    assert len(body.strip().splitlines()) - 1 == 10
