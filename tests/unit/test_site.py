"""The documentation site: what Sphinx does not check, because it stands between its files."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

import devroot
from tests._pages import TOP, Page, all_pages

if TYPE_CHECKING:
    from types import ModuleType

DOCS: Final = TOP / "docs"
API: Final = {path.name: path.read_text("utf-8") for path in (DOCS / "reference/api").glob("*.md")}
DESCRIBED: Final = re.compile(r"^\.\. auto(?:class|data|exception|function):: (\S+)$", re.MULTILINE)
PUBLIC: Final = [
    name
    for name in (
        "devroot",
        *(each.name for each in pkgutil.walk_packages(devroot.__path__, "devroot.")),
    )
    if not any(part.startswith("_") for part in name.split("."))
]
# What stands in fences, and in backticks on one line or, in a docstring, on two.
CODE: Final = re.compile(r"^ *```.*?^ *```$|``[^`]+``|`[^`\n]+`", re.MULTILINE | re.DOTALL)
SECTIONS: Final = sorted(path.parent for path in DOCS.glob("*/index.md"))
SPELLING_WORDS: Final = (DOCS / "spelling-words.txt").read_text("utf-8").splitlines()
PYTHON_NAMES: Final = [
    line.split()
    for line in (DOCS / "python-names.txt").read_text("utf-8").splitlines()
    if line[:1] != "#"
]


def of_name(full: str) -> object:
    """Return what a full name, such as ``devroot.nvidia.MigDevice``, is the name of."""
    module, _, name = full.rpartition(".")
    value: object = getattr(importlib.import_module(module), name)
    return value


def words_of(text: str) -> set[str]:
    """Return the words of a text in small letters."""
    return set(re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*", text.lower()))


@pytest.fixture
def site() -> ModuleType:
    """Give the script that checks the links of the site, as a module."""
    spec = importlib.util.spec_from_file_location("site_check", TOP / ".ci" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_described_once(module: str) -> None:
    """One page of the API describes each public name, and the module's own page leads there."""
    described = [(page, full) for page, text in API.items() for full in DESCRIBED.findall(text)]
    own = next(text for text in API.values() if f".. automodule:: {module}\n" in text)
    for name in importlib.import_module(module).__all__:
        value = of_name(f"{module}.{name}")
        places = [(page, full) for page, full in described if of_name(full) is value]
        assert len(places) == 1, f"{module}.{name} is described at {places}"
        page, full = places[0]
        assert full == f"{module}.{name}" or f"]({page})" in own


def test_nothing_else_is_described() -> None:
    """What the pages of the API describe is public, under the name by which it is imported."""
    for full in (full for text in API.values() for full in DESCRIBED.findall(text)):
        module, _, name = full.rpartition(".")
        assert module in PUBLIC
        assert name in importlib.import_module(module).__all__


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: str(section.relative_to(DOCS)))
def test_every_page_is_in_its_list(section: Path) -> None:
    """The first page of each section leads to all its other pages."""
    index = Page(str((section / "index.md").relative_to(TOP)))
    pages = {path.name for path in section.glob("*.md")} - {"index.md"}
    assert pages - set(index.links()) == set()


def test_spelling_words_are_sorted() -> None:
    """The list of words that no dictionary has is in order, each word once."""
    assert sorted(set(SPELLING_WORDS), key=str.lower) == SPELLING_WORDS


def test_spelling_words_are_used() -> None:
    """Each word that no dictionary has stands in a page, or in a docstring."""
    texts = [page.text for page in all_pages()]
    texts += [path.read_text("utf-8") for path in Path(devroot.__file__).parent.rglob("*.py")]
    used = words_of("\n".join(CODE.sub(" ", text) for text in texts))
    assert [word for word in SPELLING_WORDS if word.lower() not in used] == []


def test_names_of_python_are_sorted() -> None:
    """The list of the names that Python documents is in order, each name once."""
    names = [name for _, name, _ in PYTHON_NAMES]
    assert names == sorted(set(names), key=str.lower)


@pytest.mark.parametrize(("kind", "name", "place"), PYTHON_NAMES, ids=str)
def test_names_of_python_are_what_they_are_called(kind: str, name: str, place: str) -> None:
    """A listed name of Python is of its kind, and its place is named after it."""
    page, _, anchor = place.partition("#")
    assert re.fullmatch(r"library/[a-z.]+\.html", page)
    assert anchor == (f"module-{name}" if kind == "module" else name)
    if kind == "module":
        importlib.import_module(name)
    elif kind in {"class", "exception"}:
        module, _, last = name.rpartition(".")
        value: Any = getattr(importlib.import_module(module) if module else builtins, last)
        assert isinstance(value, type)
        assert issubclass(value, BaseException) == (kind == "exception")
    else:
        assert kind == "data"


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("https://docs.python.org/3/library/os.html#os.open", ""),
        ("http://docs.python.org/3/", "it is not https"),
        ("ftp://docs.python.org/3/", "it is not https"),
        ("//docs.python.org/3/", "it is not https"),
        ("https://docs.python.org:8080/3/", "nobody has looked at the host"),
        ("https://docs.python.org.example/3/", "nobody has looked at the host"),
        ("https://user@docs.python.org.example/3/", "nobody has looked at the host"),
        ("https:///3/", "nobody has looked at the host"),
        ("https://docs.python.org:port/3/", "Port could not be cast"),
        ("https://[docs.python.org/3/", "Invalid IPv6 URL"),
        ("javascript:alert(1)", "it is not https"),
    ],
)
def test_links_to_elsewhere(site: ModuleType, link: str, fault: str) -> None:
    """A link to elsewhere is https, well formed, and to a host that somebody has looked at."""
    found: str = site.fault_outside(link)
    assert found.startswith(fault)
    assert bool(found) == bool(fault)


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("other.html", None),
        ("other.html#there", None),
        ("#here", None),
        ("#", None),
        ("../page.html", None),
        ("gone.html", "there is no such page"),
        ("other.html#gone", "there is no such anchor"),
        ("#there", "there is no such anchor"),
        ("figure.svg", "there is no such page"),
        ("//semver.org/", "it is not https"),
    ],
)
@pytest.mark.parametrize("tag", ['<a href="{}">', '<img src="{}">', '<object data="{}"></object>'])
def test_links_within_the_site(
    site: ModuleType, tmp_path: Path, link: str, fault: str | None, tag: str
) -> None:
    """A link within the site leads to a page that is there, and an anchor that is on it."""
    pages = {
        "page.html": "",
        "sub/page.html": f'<p id="here">{tag.format(link)}',
        "sub/other.html": '<p id="there">',
    }
    for name, text in pages.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    expected = [] if fault is None else [f"sub/page.html: {link}: {fault}"]
    assert list(site.faults(tmp_path, "")) == expected


def test_a_site_without_pages(site: ModuleType, tmp_path: Path) -> None:
    """Where no site was built, not all is well."""
    assert list(site.faults(tmp_path, "")) == [f"no page stands below {tmp_path}"]


def test_names_that_no_page_needs(site: ModuleType, tmp_path: Path) -> None:
    """A listed name of Python that no page of the site refers to is found."""
    page = '<a href="https://docs.python.org/3/library/os.html#module-os">'
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    used, unused = "module os library/os.html#module-os", "module io library/io.html#module-io"
    names = f"# names\n{used}\n{unused}\n"
    assert list(site.faults(tmp_path, names)) == [
        f"docs/python-names.txt: no page refers to this any more: {unused}"
    ]
