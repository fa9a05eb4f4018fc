#!/usr/bin/env python3
"""Run the demo or the tests from a fresh clone: a Python is all that has to be there.

    python3 .ci/dev.py demo            show the main job on an embedded example
    python3 .ci/dev.py test [ARG...]   run the tests; arguments go to pytest
    python3 .ci/dev.py nox [ARG...]    run nox, for its other sessions: nox --list

What is needed is installed into virtual environments in .dev/ and .nox/ of this checkout, which
git ignores; nothing else on the machine is changed. The tests run on every Python from 3.10 to
3.13 that is found; when CI=true is set, all four must be there.
"""

# An older Python has to understand this file far enough to say that it is too old.

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

HERE = Path(__file__).resolve().parent.parent
OLDEST = (3, 10)
PYTHONS = ("3.10", "3.11", "3.12", "3.13")


def stop(text: str) -> NoReturn:
    """End with a message that says what is wrong and what to do about it."""
    sys.exit("dev.py: " + text)


def pyenv_version() -> str:
    """Return what makes pyenv's ``python3.X`` commands work: the newest version of each.

    Such a command stands in PATH for each version that is installed, and fails unless that
    version is a chosen one. Empty where there is no pyenv.
    """
    if not shutil.which("pyenv"):
        return ""
    listed = subprocess.run(["pyenv", "versions", "--bare"], stdout=subprocess.PIPE, check=False)
    versions = re.findall(r"^(3\.\d+)\.(\d+)$", listed.stdout.decode(), re.MULTILINE)
    newest = {minor: max(int(p) for m, p in versions if m == minor) for minor, _ in versions}
    return ":".join([f"{minor}.{newest[minor]}" for minor in PYTHONS if minor in newest])


def environment() -> "dict[str, str]":
    """Return the environment for a command: it finds the Python at hand and pyenv's."""
    path = [os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)]
    found = dict(os.environ, PATH=os.pathsep.join(path), PYENV_VERSION=pyenv_version())
    return {name: value for name, value in found.items() if value}


def run(*command: str) -> None:
    """Run a command in the checkout; should it fail, end with its exit status."""
    try:
        done = subprocess.run(command, cwd=str(HERE), env=environment(), check=False)
    except KeyboardInterrupt:
        sys.exit(130)
    if done.returncode:
        print(f"dev.py: exit status {done.returncode}: {' '.join(command)}", file=sys.stderr)
        sys.exit(done.returncode if done.returncode > 0 else 1)


def virtual_environment(name: str, *install: str) -> str:
    """Return the Python of a virtual environment in which ``pip install`` did *install*.

    One that is complete is used again, unless what it stands for has changed; it is marked as
    complete by a file that is written last.
    """
    place = HERE / ".dev" / f"{name}-{sys.version_info[0]}.{sys.version_info[1]}"
    python = str(place / "bin" / "python")
    key = hashlib.sha256((HERE / "pyproject.toml").read_bytes())
    key.update(repr((str(place), sys.version, sys.executable, install)).encode())
    mark = place / "complete"
    if mark.exists() and mark.read_text() == key.hexdigest():
        return python
    try:
        import ensurepip  # noqa: F401, PLC0415 - some systems package it apart
        import venv  # noqa: PLC0415 - likewise
    except ImportError as error:
        stop(
            f"{sys.executable} has no module {error.name}, which makes virtual environments;"
            " on Debian and Ubuntu: apt-get install python3-venv"
        )
    print(f"dev.py: making the virtual environment {place.relative_to(HERE)}", file=sys.stderr)
    venv.create(str(place), clear=True, with_pip=True)
    run(python, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")
    run(python, "-m", "pip", "install", "--quiet", *install)
    mark.write_text(key.hexdigest())
    return python


def nox(*args: str) -> None:
    """Run nox with these arguments, from an environment of its own."""
    run(virtual_environment("nox", "--group", "run"), "-m", "nox", *args)


def usable(version: str) -> bool:
    """Return whether the command ``python3.X`` of this version runs."""
    try:
        command = [f"python{version}", "-c", ""]
        done = subprocess.run(command, env=environment(), stderr=subprocess.DEVNULL, check=False)
    except OSError:
        return False
    return done.returncode == 0


def test(*args: str) -> None:
    """Run the tests on each Python that there is, and join their coverage."""
    found = [version for version in PYTHONS if usable(version)]
    missing = [version for version in PYTHONS if version not in found]
    posargs = ["--", *args] if args else []
    if missing and os.environ.get("CI") == "true":
        stop(f"CI tests on {', '.join(PYTHONS)}; not found: {', '.join(missing)}")
    if missing:
        print(f"dev.py: not found, so not tested: Python {', '.join(missing)}", file=sys.stderr)
    if found:
        nox("--session", *[f"tests-{version}" for version in found], *posargs)
    else:
        nox("--session", "tests", "--force-python", sys.executable, *posargs)


def demo() -> None:
    """Show the main job."""
    run(virtual_environment("demo", "--editable", "."), "-m", "devroot", "demo")


def main(args: "list[str]") -> None:
    """Do what the command line says."""
    if sys.version_info < OLDEST:
        stop(
            f"{sys.executable} is Python {sys.version.split()[0]}; devroot needs 3.10 or later."
            " Name another one, such as: python3.12 .ci/dev.py test"
        )
    if args == ["demo"]:
        demo()
    elif args[:1] == ["test"]:
        test(*args[1:])
    elif args[:1] == ["nox"]:
        nox(*args[1:])
    else:
        print(__doc__)
        sys.exit(0 if args in (["-h"], ["--help"]) else 2)


if __name__ == "__main__":
    main(sys.argv[1:])
