"""The page on hot-plug: how long its plugin is; its test is run with those of the other pages."""

from __future__ import annotations

from tests._pages import Page

PAGE = Page("docs/how-to/follow-hot-plug.md")


def test_the_plugin_is_ten_lines() -> None:
    """So many has the function that is the whole plugin."""
    _, _, body = PAGE.blocks("python")[0].partition("def follow")
    assert len(body.strip().splitlines()) - 1 == 10
