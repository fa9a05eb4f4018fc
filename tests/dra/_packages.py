"""The packages of the session `dra`, which have no types and are missing elsewhere."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import pytest


def needed(name: str) -> Any:  # noqa: ANN401 - it has no types
    """Return a module; without it the tests are skipped, and fail in the session for it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if os.environ.get("DEVROOT_DRA") == "1":
            raise
        reason = f"needs {error.name}, which `nox --session dra` installs"
        pytest.skip(reason, allow_module_level=True)
