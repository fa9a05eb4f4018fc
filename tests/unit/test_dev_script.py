"""The script that runs the demo and the tests from a fresh clone: what it says when it cannot."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

SCRIPT = Path(__file__).parents[2] / ".ci" / "dev.py"


@pytest.fixture
def dev(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """Give the script as a module, for a checkout that has nothing but a project file."""
    spec = importlib.util.spec_from_file_location("dev", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(module, "HERE", tmp_path)
    return module


@pytest.fixture
def commands(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Give the list of the commands that the script would have run."""
    made: list[tuple[str, ...]] = []

    def note(*command: str) -> None:
        made.append(command)

    monkeypatch.setattr(dev, "run", note)
    return made


def program(directory: Path, name: str, script: str) -> None:
    """Put a shell script with this name into a directory, for PATH."""
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_help(dev: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Asked for help, it shows the commands and succeeds."""
    with pytest.raises(SystemExit) as ended:
        dev.main(["--help"])
    assert ended.value.code == 0
    assert "dev.py demo" in capsys.readouterr().out


@pytest.mark.parametrize("args", [[], ["tset"], ["demo", "--fast"]])
def test_unknown_command(
    dev: ModuleType, capsys: pytest.CaptureFixture[str], args: list[str]
) -> None:
    """What it does not understand fails, and shows the commands."""
    with pytest.raises(SystemExit) as ended:
        dev.main(args)
    assert ended.value.code == 2
    assert "dev.py test" in capsys.readouterr().out


def test_python_too_old(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older Python is told which one is needed, before anything else is done."""
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    with pytest.raises(SystemExit, match=r"devroot needs 3\.10 or later"):
        dev.main(["test"])


def test_older_pythons_understand_the_file() -> None:
    """The file has no syntax that is newer than the Pythons that it sends away."""
    ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 7))


def test_no_venv_module(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a system has packaged venv apart, it says which package to install."""
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SystemExit, match=r"no module ensurepip.*apt-get install python3-venv"):
        dev.main(["demo"])


def test_missing_pythons_in_ci(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, commands: list[Any]
) -> None:
    """CI does not pass by testing on fewer Pythons than it should."""
    program(tmp_path / "bin", "python3.11", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "elsewhere" / "python"))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(SystemExit, match=r"not found: 3\.10, 3\.12, 3\.13"):
        dev.main(["test"])
    assert commands == []


def test_missing_pythons_elsewhere(
    dev: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    commands: list[Any],
) -> None:
    """A person tests on the Pythons that are there, and is told which are not.

    A command that stands in PATH and fails, as pyenv's do for a version that is not chosen, is
    not there.
    """
    program(tmp_path / "bin", "python3.11", "exit 0")
    program(tmp_path / "bin", "python3.12", "exit 127")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "elsewhere" / "python"))
    monkeypatch.delenv("CI", raising=False)

    def virtual_environment(name: str, *_install: str) -> str:
        return f"{name}/bin/python"

    monkeypatch.setattr(dev, "virtual_environment", virtual_environment)
    dev.main(["test", "-k", "mounts"])
    assert commands == [
        ("nox/bin/python", "-m", "nox", "--session", "tests-3.11", "--", "-k", "mounts"),
    ]
    assert "not tested: Python 3.10, 3.12, 3.13" in capsys.readouterr().err


def test_newest_versions_of_pyenv(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of the versions that pyenv has, the newest of each is chosen, by number."""
    script = "printf '%s\\n' system 3.9.18 3.10.9 3.10.13 3.13.0 pypy3.10-7.3 3.11.7/envs/x"
    program(tmp_path / "bin", "pyenv", script)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert dev.pyenv_version() == "3.10.13:3.13.0"
    assert dev.environment()["PYENV_VERSION"] == "3.10.13:3.13.0"


def test_no_pyenv(dev: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without pyenv, nothing is said about its versions."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PYENV_VERSION", raising=False)
    assert "PYENV_VERSION" not in dev.environment()


def test_failing_command(dev: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """A command that fails ends the script with its exit status, and is named."""
    with pytest.raises(SystemExit) as ended:
        dev.run(sys.executable, "-c", "raise SystemExit(7)")
    assert ended.value.code == 7
    assert "exit status 7" in capsys.readouterr().err
