"""Other programmes and libraries with which this one is compared, where they are installed."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import shutil
import subprocess
from typing import Any, Final

PROGRAMMES: Final = ("findmnt", "mknod", "nvidia-ctk", "nvidia-modprobe")
LIBRARIES: Final = ("psutil",)

_VERSION: Final = re.compile(r"\d+(\.\d+)+\S*")


class MissingError(Exception):
    """A peer is not installed, or does not work here; the text says so."""


def programme(name: str) -> str:
    """Return the path of a programme.

    Raises:
        MissingError: it is not on the path.
    """
    found = shutil.which(name)
    if found is None:
        reason = f"{name} is not on the path"
        raise MissingError(reason)
    return found


def library(name: str) -> Any:  # noqa: ANN401 - whatever is in it, for it may be missing
    """Return a module of another distribution.

    Raises:
        MissingError: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        reason = f"{name} is not installed"
        raise MissingError(reason) from None


def run(*command: str) -> None:
    """Run a programme that says nothing.

    Raises:
        MissingError: it fails, with what it says.
    """
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        name = os.path.basename(command[0])
        reason = f"{name} ends with status {done.returncode} here: {' '.join(said[:1])}"
        raise MissingError(reason)


def versions() -> dict[str, str]:
    """Return the version of each peer, or that it is not installed."""
    found: dict[str, str] = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    for name in PROGRAMMES:
        found[name] = _version_of(name)
    return found


def _version_of(name: str) -> str:
    try:
        path = programme(name)
    except MissingError:
        return "not installed"
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    match = _VERSION.search(done.stdout)
    return match[0] if match else "of an unknown version"
