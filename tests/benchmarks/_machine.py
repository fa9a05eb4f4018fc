"""On what the figures were measured."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
from typing import Final

import devroot
from tests.benchmarks._peers import versions

_PROCESSORS: Final = "/proc/cpuinfo"


def facts() -> dict[str, str]:
    """Return what the figures depend on: the machine, and the versions of all that takes part."""
    model = _model()
    return {
        "date": f"{dt.datetime.now(dt.timezone.utc):%Y-%m-%d}",
        "devroot": devroot.__version__,
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "attrs": importlib.metadata.version("attrs"),
        "kernel": f"{os.uname().sysname} {os.uname().release}",
        "processor": f"{model} ({os.uname().machine})",
        "processors": f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}",
        "load before": f"{os.getloadavg()[0]:.1f} processes wanted a processor",
        **versions(),
    }


def _model() -> str:
    """Return what the processor calls itself; not every architecture says so."""
    with open(_PROCESSORS, encoding="utf-8") as file:
        lines = [line.partition(":") for line in file]
    named = [value.strip() for key, _, value in lines if key.strip() == "model name"]
    return named[0] if named else "unnamed"
