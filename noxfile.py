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
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterator

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "virtualenv"
nox.options.download_python = "never"
nox.options.error_on_external_run = True
nox.options.reuse_venv = "yes"
nox.options.sessions = [
    *("tests", "openat2", "lowest", "install", "dra"),
    *("lint", "typing", "contract", "docs", "dist"),
]

HERE = Path(__file__).parent
PYPROJECT = nox.project.load_toml(HERE / "pyproject.toml")
PYTHONS = nox.project.python_versions(PYPROJECT)
README = (HERE / "README.md").read_text(encoding="utf-8")
BUILD = HERE / "build"
WHEELS = BUILD / "wheel"
COVERAGE = BUILD / "coverage"
EXAMPLE = HERE / "docs" / "examples" / "dra_driver"

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


@nox.session(python=PYTHONS, requires=["wheel"], venv_params=["--no-setuptools"])
def install(session: nox.Session) -> None:
    """Install the wheel alone, as a user does, and run the quick start of the README."""
    session.install("--upgrade", the_wheel())
    session.install("--force-reinstall", "--no-deps", the_wheel())
    (programme,) = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    promised = re.findall(r"^print\(.*\)  # (.*)$", programme, re.MULTILINE)
    with session.chdir(session.create_tmp()):
        session.run("python", "-m", "pip", "check")
        listed = str(session.run("python", "-m", "pip", "list", "--format=freeze", silent=True))
        said = session.run("python", "-I", "-W", "error", "-c", programme, silent=True)
        session.run("python", "-I", "-W", "error", "-m", "devroot", "demo", silent=True)
    held = {canonicalize_name(line.partition("==")[0]) for line in listed.split()} - {"pip"}
    wanted = {"devroot"} | {Requirement(each).name for each in PYPROJECT["project"]["dependencies"]}
    if held != wanted:
        session.error(f"the wheel brings {sorted(held)}, and not {sorted(wanted)}")
    if str(said).splitlines() != promised:
        session.error(f"the quick start of the README printed:\n{said}")


@nox.session(python=PYTHONS[0], requires=["wheel"])
def lowest(session: nox.Session) -> None:
    """Run the tests on the lowest versions that are allowed; arguments go to pytest."""
    pins = map(lowest_of, [*PYPROJECT["project"]["dependencies"], *groups("tests")])
    session.install(*pins, the_wheel())
    session.install("--force-reinstall", "--no-deps", the_wheel())
    run_pytest(session, *(session.posargs or ["-m", "not kernel and not race"]), cover=False)


def lowest_of(requirement: str) -> str:
    """Return *requirement* with the version that it starts from, and with no other."""
    parsed = Requirement(requirement)
    (bound,) = parsed.specifier  # a test sees to it that there is no other
    return f"{parsed.name}=={bound.version}"


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
def api(session: nox.Session) -> None:
    """Write the snapshot of the public API for the version that is about to be released."""
    session.install(*groups("tests"), "--editable", ".")
    session.run("python", "-m", "tests.public_api")


@nox.session
def demo(session: nox.Session) -> None:
    """Show the main job on an embedded example."""
    session.install("--editable", ".")
    session.run("python", "-m", "devroot", "demo")


@nox.session(requires=["wheel"])
def bench(session: nox.Session) -> None:
    """Measure ratios within one run, and print them with their limits; as root, for all of them.

    Arguments go to ``tests/benchmarks/run.py``: ``nox -s bench -- mounts cdi``.
    """
    install_wheel(session, the_wheel(), "bench")
    session.run("python", str(HERE / "tests" / "benchmarks" / "run.py"), *session.posargs)


@nox.session
def mutation(session: nox.Session) -> None:
    """Break the rooms one operator at a time, and say which breaks no test notices; takes long.

    Arguments name mutants: ``nox -s mutation -- 'devroot._mounts.*'``. With none, all are made and
    tested anew.
    """
    if not session.posargs:
        shutil.rmtree(HERE / "mutants", ignore_errors=True)
    session.install(*PYPROJECT["project"]["dependencies"], *groups("mutation"))
    session.env["DEVROOT_HYPOTHESIS_PROFILE"] = "ci"
    session.run("mutmut", "run", *session.posargs)
    session.run("python", str(HERE / ".ci" / "mutants.py"))


@nox.session(requires=["wheel"])
def docs(session: nox.Session) -> None:
    """Build the documentation site, and check its links, its spelling and how it is built.

    What the docstrings say comes from the wheel. Arguments go to sphinx-build.
    """
    install_wheel(session, the_wheel(), "docs")
    # Here, for no other session has Sphinx.
    session.run("mypy", str(HERE / "docs" / "conf.py"), str(HERE / "docs" / "_ext"))
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
    unset = {"SOURCE_DATE_EPOCH": None}
    session.run(  # the wheel from the sdist
        "python", "-m", "build", "--outdir", str(out), env=unset, silent=True
    )
    (sdist,) = out.glob("devroot-*.tar.gz")
    (built,) = out.glob("devroot-*.whl")
    again = build_elsewhere(session)
    faults = [*faults_of_sdist(sdist), *faults_of_wheel(built)]
    faults += [
        f"{path.name} differs from one that was built of a copy: compare it with {again}"
        for path in (sdist, built)
        if path.read_bytes() != (again / path.name).read_bytes()
    ]
    if faults:
        session.error("\n".join(faults))

    unpacked = out / sdist.name.removesuffix(".tar.gz")
    shutil.unpack_archive(sdist, out)
    install_wheel(session, str(built), "tests")
    run_pytest(session, "-m", "not kernel and not race", cover=False, cwd=unpacked)


def build_elsewhere(session: nox.Session) -> Path:
    """Build both archives again, where all differs that must not matter; return the directory.

    It is a copy of the tree under another name, with other times and modes, and built with
    another umask, locale, time zone and order of sets.
    """
    copy = BUILD / "elsewhere" / "a copy"
    shutil.rmtree(copy.parent, ignore_errors=True)
    copy.mkdir(parents=True)
    for name in SDIST:
        if (HERE / name).is_dir():
            skipped = shutil.ignore_patterns("__pycache__")
            shutil.copytree(HERE / name, copy / name, ignore=skipped)
        else:
            shutil.copyfile(HERE / name, copy / name)
    for path in copy.rglob("*"):
        path.chmod(path.stat().st_mode & 0o700)
        os.utime(path, (1, 1_000_000_000))
    env = {"SOURCE_DATE_EPOCH": None, "LC_ALL": "C", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "1"}
    umask = os.umask(0o077)
    try:
        session.run("python", "-m", "build", str(copy), env=env, silent=True)
    finally:
        os.umask(umask)
    return copy / "dist"


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
