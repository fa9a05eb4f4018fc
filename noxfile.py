"""What is checked, and how: ``nox --list`` names the sessions, ``nox -s lint`` runs one.

The tests run on a wheel that is built once per run, never on the working tree: what is tested
is what users install.
"""

from __future__ import annotations

import os
import re
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import nox
from packaging.metadata import ExceptionGroup, Metadata

if TYPE_CHECKING:
    from collections.abc import Iterator

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "virtualenv"
nox.options.download_python = "never"
nox.options.error_on_external_run = True
nox.options.reuse_venv = "yes"
nox.options.sessions = ["tests", "openat2", "dra", "lint", "typing", "contract", "docs", "dist"]

HERE = Path(__file__).parent
PYPROJECT = nox.project.load_toml(HERE / "pyproject.toml")
PYTHONS = nox.project.python_versions(PYPROJECT)
BUILD = HERE / "build"
WHEELS = BUILD / "wheel"
COVERAGE = BUILD / "coverage"
EXAMPLE = HERE / "docs" / "examples" / "dra_driver"

# What a benchmark prints of a ratio: its limit stands before or after what is compared.
RATIO = re.compile(
    r"^ *(?P<ratio>\d+\.\d+) +(?:(?P<verdict>within|above) (?P<limit>\S+) +(?P<what>.+)"
    r"|(?P<later_what>.+): (?P<later_verdict>within|above) (?P<later_limit>\S+))$",
    re.MULTILINE,
)
NEEDS_ROOT = ("mknod",)  # it makes device nodes

# All that the sdist holds, besides the metadata that the build adds.
SDIST = (
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "devroot",
    "docs",
    "noxfile.py",
    "pyproject.toml",
    "tests",
)


def groups(*names: str) -> tuple[str, ...]:
    """Return the requirements of these dependency groups of ``pyproject.toml``."""
    return nox.project.dependency_groups(PYPROJECT, *names)


def the_wheel() -> str:
    """Return the wheel that the session ``wheel`` has built."""
    (wheel,) = WHEELS.glob("devroot-*.whl")
    return str(wheel)


def install_wheel(session: nox.Session, wheel: str, *names: str) -> None:
    """Install *wheel* and the dependency groups *names*, the wheel anew at every run."""
    session.install(*groups(*names), wheel)
    session.install("--force-reinstall", "--no-deps", wheel)


def run_pytest(session: nox.Session, *args: str, cover: bool, cwd: Path = HERE) -> None:
    """Run the tests below *cwd* on the wheel that the session has installed.

    ``python -m pytest`` would put the working tree first on the path, and with it the package
    that lies there; the ``pytest`` script does not, and ``tests/conftest.py`` checks it.
    """
    env = {"DEVROOT_EXPECT_INSTALLED": "1", "PYTHONSAFEPATH": "1"}
    command = ["pytest", *args]
    if cover:
        COVERAGE.mkdir(parents=True, exist_ok=True)
        env["COVERAGE_FILE"] = str(COVERAGE / f".coverage.{session.name}")
        command = ["coverage", "run", str(Path(session.bin) / "pytest"), *args]
    with session.chdir(cwd):
        session.run(*command, env=env)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel that the other sessions test."""
    session.install(*groups("dist"))
    shutil.rmtree(WHEELS, ignore_errors=True)
    shutil.rmtree(COVERAGE, ignore_errors=True)
    session.run("python", "-m", "build", "--wheel", "--outdir", str(WHEELS), silent=True)


@nox.session(python=PYTHONS, requires=["wheel"])
def tests(session: nox.Session) -> None:
    """Run the tests on the wheel, measure branch coverage; arguments go to pytest."""
    install_wheel(session, the_wheel(), "cov")
    run_pytest(session, *session.posargs, cover=True)
    if not session.posargs:
        session.notify("coverage")


@nox.session
def coverage(session: nox.Session) -> None:
    """Join what the Pythons have covered into one report: less than 100 % fails."""
    session.install(*groups("cov"))
    env = {"COVERAGE_FILE": str(COVERAGE / ".coverage")}
    session.run("coverage", "combine", "--keep", str(COVERAGE), env=env, silent=True)
    session.run("coverage", "report", env=env)


@nox.session(requires=["wheel"])
def openat2(session: nox.Session) -> None:
    """Run the tests as if the kernel had no openat2; arguments go to pytest."""
    install_wheel(session, the_wheel(), "tests")
    session.env["DEVROOT_TEST_OPENAT2"] = "ENOSYS"
    run_pytest(session, *session.posargs, cover=False)


@nox.session(requires=["wheel"])
def dra(session: nox.Session) -> None:
    """Run the example of a DRA driver on its framework, and check its types."""
    install_wheel(session, the_wheel(), "dra")
    session.env["DEVROOT_DRA"] = "1"
    run_pytest(session, *(session.posargs or ["tests/dra"]), cover=False)
    session.env["MYPYPATH"] = str(EXAMPLE)
    # What it imports has not all the types.
    untyped = ["--ignore-missing-imports", "--allow-subclassing-any", "--allow-untyped-calls"]
    session.run("mypy", *untyped, str(EXAMPLE))


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format."""
    session.install(*groups("lint"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session(requires=["wheel"])
def typing(session: nox.Session) -> None:
    """Check types with mypy and pyright, and that the public interface is wholly typed."""
    install_wheel(session, the_wheel(), "typing")
    session.run("mypy")
    session.run("pyright")
    with session.chdir(session.create_tmp()):
        session.run("pyright", "--verifytypes", "devroot", "--ignoreexternal")


@nox.session
def contract(session: nox.Session) -> None:
    """Check that each room imports only from those before it."""
    session.install(*groups("contract"))
    session.run("lint-imports", "--no-logo", "--no-cache")


@nox.session
def demo(session: nox.Session) -> None:
    """Show the main job on an embedded example."""
    session.install("--editable", ".")
    session.run("python", "-m", "devroot", "demo")


@nox.session(requires=["wheel"])
def bench(session: nox.Session) -> None:
    """Measure ratios within one run, and print them with their limits; as root, for all of them.

    Arguments name benchmarks: ``nox -s bench -- mounts cdi``.
    """
    install_wheel(session, the_wheel())
    rows: list[tuple[str, ...]] = []
    faults: list[str] = []
    for script in sorted((HERE / "tests" / "benchmarks").glob("bench_*.py")):
        name = script.stem.removeprefix("bench_")
        if session.posargs and name not in session.posargs:
            continue
        if name in NEEDS_ROOT and os.geteuid() != 0:
            session.warn(f"{script.name} needs root, and is left out")
            continue
        said = session.run("python", str(script), silent=True, success_codes=[0, 1])
        found = [*RATIO.finditer(str(said))]
        if not found:
            faults.append(f"{script.name} gives no ratio: {said}")
        for each in found:
            verdict = each["verdict"] or each["later_verdict"]
            what, limit = each["what"] or each["later_what"], each["limit"] or each["later_limit"]
            rows.append((name, each["ratio"], limit, what))
            if verdict != "within":
                faults.append(f"{name}: {what} is {each['ratio']}, above {limit}")
    version = session.run("python", "-VV", silent=True)
    session.log(f"{str(version).strip()}, {os.uname().sysname} {os.uname().release}")
    for row in [("", "ratio", "limit", "what is compared"), *rows]:
        session.log("{:<9}{:>7}{:>7}  {}".format(*row))
    if faults:
        session.error("\n".join(faults))


@nox.session(requires=["wheel"])
def docs(session: nox.Session) -> None:
    """Build the documentation site, and check its links, its spelling and how it is built.

    What the docstrings say comes from the wheel. Arguments go to sphinx-build.
    """
    install_wheel(session, the_wheel(), "docs")
    session.run("mypy", str(HERE / "docs" / "conf.py"))
    site = build_site(session, "html", "--fresh-env", *session.posargs)
    session.run("python", str(HERE / ".ci" / "site.py"), str(site))
    build_site(session, "spelling")
    session.log(f"The site is {site / 'index.html'}")


@nox.session(requires=["wheel"])
def linkcheck(session: nox.Session) -> None:
    """Follow the links of the site to other hosts; this needs a network, so CI does not."""
    install_wheel(session, the_wheel(), "docs")
    build_site(session, "linkcheck")


def build_site(session: nox.Session, builder: str, *args: str) -> Path:
    """Let Sphinx build the site; any warning fails, a name that leads nowhere is one."""
    site = BUILD / "docs"
    strict = ["--nitpicky", "--fail-on-warning", "--keep-going", "--quiet"]
    places = ["--doctree-dir", str(site / "doctrees"), str(HERE / "docs"), str(site / builder)]
    session.run("sphinx-build", *strict, "--builder", builder, *args, *places)
    return site / builder


@nox.session
def dist(session: nox.Session) -> None:
    """Build what would be published, check it, and run the tests from the unpacked sdist."""
    out = BUILD / "dist"
    shutil.rmtree(out, ignore_errors=True)
    session.install(*groups("dist"))
    session.run("python", "-m", "build", "--outdir", str(out), silent=True)  # wheel from sdist
    (sdist,) = out.glob("devroot-*.tar.gz")
    (built,) = out.glob("devroot-*.whl")
    faults = [*faults_of_sdist(sdist), *faults_of_wheel(built)]
    if faults:
        session.error("\n".join(faults))

    unpacked = out / sdist.name.removesuffix(".tar.gz")
    shutil.unpack_archive(sdist, out)
    install_wheel(session, str(built), "tests")
    run_pytest(session, "-m", "not kernel and not race", cover=False, cwd=unpacked)


def files_below(*names: str) -> set[str]:
    """Return the files of the working tree that belong into an archive."""
    return {
        str(path.relative_to(HERE))
        for name in names
        for path in [HERE / name, *(HERE / name).rglob("*")]
        if path.is_file() and "__pycache__" not in path.parts
    }


def faults_of_sdist(path: Path) -> Iterator[str]:
    """Say what is missing from the sdist, and what strayed into it."""
    with tarfile.open(path) as archive:
        held = {member.name.partition("/")[2] for member in archive if member.isfile()}
        metadata = archive.extractfile(f"{path.name.removesuffix('.tar.gz')}/PKG-INFO")
        if metadata is None:
            yield f"{path.name}: PKG-INFO is not a file"
        else:
            yield from faults_of_metadata(path.name, metadata.read())
    wanted = files_below(*SDIST) | {"PKG-INFO"}
    yield from (f"{path.name} lacks {name}" for name in sorted(wanted - held))
    yield from (f"{name} strayed into {path.name}" for name in sorted(held - wanted))


def faults_of_wheel(path: Path) -> Iterator[str]:
    """Say what is missing from the wheel, and what strayed into it."""
    info = "-".join(path.name.split("-")[:2]) + ".dist-info"
    with zipfile.ZipFile(path) as archive:
        held = {name for name in archive.namelist() if not name.endswith("/")}
        yield from faults_of_metadata(path.name, archive.read(f"{info}/METADATA"))
    metadata = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    wanted = files_below("devroot") | {f"{info}/{name}" for name in metadata}
    if "devroot/py.typed" not in held:
        yield f"{path.name} lacks the marker devroot/py.typed"
    yield from (f"{path.name} lacks {name}" for name in sorted(wanted - held))
    yield from (f"{name} strayed into {path.name}" for name in sorted(held - wanted))


def faults_of_metadata(name: str, data: bytes) -> Iterator[str]:
    """Say what an index would refuse in the metadata of the archive *name*."""
    try:
        metadata = Metadata.from_email(data, validate=True)
    except ExceptionGroup as group:
        yield from (f"{name}: {error}" for error in group.exceptions)
        return
    if not name.startswith(f"{metadata.name}-{metadata.version}"):
        yield f"{name} holds the metadata of {metadata.name} {metadata.version}"
    if not metadata.description or metadata.description_content_type != "text/markdown":
        yield f"{name}: the README is not its description"
    if metadata.license_expression != PYPROJECT["project"]["license"]:
        yield f"{name}: the licence is {metadata.license_expression}"
