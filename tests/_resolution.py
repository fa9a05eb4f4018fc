"""The table of cases on which every way to resolve a path inside a root has to agree."""

from __future__ import annotations

from errno import EINVAL, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR
from typing import Final

import attrs

LONGEST: Final = "n" * 255
"""The longest name, see ``NAME_MAX`` in limits.h(0p)."""

TREE: Final = (
    # Plain files.
    "dir /etc/sub/deep",
    "file /etc/passwd\nroot",
    "dir /empty",
    "fifo /run/fifo",
    "socket /run/socket",
    # Names that only look special.
    "dir /.../..dots/dots..",
    "file '/with space'",
    "file '/back\\slash'",
    "file '/gone (deleted)'",
    "dir '/lost (deleted)/sub'",
    "file /*",
    "file /\udcff\udcfe",
    f"dir /{LONGEST}",
    # Links to files and directories, relative and absolute.
    "link /file etc/passwd",
    "link /file-absolute /etc/passwd",
    "link /etc/file-beside passwd",
    "link /directory etc/sub",
    "link /directory-absolute /etc/sub",
    "link /directory-slash etc/sub/",
    "link /directory-dot etc/sub/.",
    "link /to-fifo run/fifo",
    "link /slashes ///etc////sub",
    # Links to the root, and further up than that.
    "link /root /",
    "link /dot .",
    "link /up ..",
    "link /etc/up ..",
    "link /etc/climb ../../../../../../etc/sub",
    "link /etc/climb-absolute /../../../../etc/sub",
    "link /etc/climb-to-root ../../..",
    # Links through links, three levels deep.
    "link /one/relative ../etc",
    "link /one/absolute /etc",
    "link /two/relative ../one",
    "link /two/absolute /one",
    "link /three/relative ../two/relative/relative/sub",
    "link /three/absolute /two/absolute/absolute/sub",
    "link /three/mixed ../two/absolute/relative/sub/../passwd",
    # What is before ``..`` counts, not its text.
    "dir /cousins/parent/child",
    "file /cousins/parent/sibling",
    "link /cousins/away ../etc/sub",
    "link /cousins/nephew parent/child",
    # Links that lead nowhere, or through something that is no directory.
    "link /dangling nowhere",
    "link /dangling-absolute /no/where",
    "link /dangling-deep etc/sub/nowhere/further",
    "link /dangling-back etc/nowhere/..",
    "link /dangling-chain dangling",
    "link /through-file etc/passwd/x",
    "link /through-file-back etc/passwd/..",
    "link /file-slash etc/passwd/",
    "link /file-dot etc/passwd/.",
    f"link /too-long {LONGEST}n",
    # A maze: each link ends in a place from which the next one goes on.
    "link /maze/in a/go",
    "link /maze/a/go ../next",
    "link /maze/next b/go",
    "link /maze/b/go ../last",
    "link /maze/last c/../d/end",
    "dir /maze/c",
    "link /maze/d/end e/f/missing",
    "dir /maze/d/e/f",
    # Loops.
    "link /loop loop",
    "link /loop-absolute /loop-absolute",
    "link /loop-dot ./loop-dot",
    "link /loop-up ../loop-up",
    "link /loop-under loop-under/x",
    "link /ping pong",
    "link /pong /ping",
    "link /ring/a/next ../b/next",
    "link /ring/b/next /ring/c/next",
    "link /ring/c/next /ring/d/next",
    "link /ring/d e",
    "link /ring/e/next ../a/next",
    # 40 links are followed, and not one more.
    "link /hop/1 ../etc/sub",
    *(f"link /hop/{number} {number - 1}" for number in range(2, 43)),
)


@attrs.frozen
class Case:
    """One path and what it leads to.

    Attributes:
        path: what is resolved.
        place: where that is inside the root; if it fails, what had been reached.
        error: the error number if it fails, else 0.
    """

    path: str
    place: str
    error: int = 0

    def __str__(self) -> str:
        path = self.path
        return path if len(path) < 60 else f"{path[:9]!a}...{path[-20:]!a} ({len(path)})"


def _fail(error: int, *cases: tuple[str, str]) -> list[Case]:
    return [Case(path, place, error) for path, place in cases]


_FOUND: Final = [
    # The root, whatever it is called.
    Case("", "/"),
    Case("/", "/"),
    Case("///", "/"),
    Case(".", "/"),
    Case("./", "/"),
    Case("..", "/"),
    Case("/..", "/"),
    Case("../../../..", "/"),
    Case("etc/..", "/"),
    Case("etc/../..", "/"),
    Case("root", "/"),
    Case("root/root/root", "/"),
    Case("dot", "/"),
    Case("up", "/"),
    Case("up/up/", "/"),
    Case("etc/up", "/"),
    Case("etc/up/..", "/"),
    Case("etc/climb-to-root", "/"),
    # Plain files.
    Case("etc", "/etc"),
    Case("/etc", "/etc"),
    Case("etc/", "/etc"),
    Case("etc//", "/etc"),
    Case("etc/.", "/etc"),
    Case("etc/./", "/etc"),
    Case("//etc///sub////deep", "/etc/sub/deep"),
    Case("etc/.././etc/./sub/../sub/.", "/etc/sub"),
    Case("etc///././sub////.//deep/./././///", "/etc/sub/deep"),
    Case("../../etc/../../etc/passwd", "/etc/passwd"),
    Case("etc/sub/../passwd", "/etc/passwd"),
    Case("empty", "/empty"),
    Case("run/fifo", "/run/fifo"),
    Case("run/socket", "/run/socket"),
    # Names that only look special.
    Case("...", "/..."),
    Case(".../..dots", "/.../..dots"),
    Case(".../..dots/dots../..", "/.../..dots"),
    Case("with space", "/with space"),
    Case("back\\slash", "/back\\slash"),
    Case("gone (deleted)", "/gone (deleted)"),
    Case("lost (deleted)", "/lost (deleted)"),
    Case("lost (deleted)/sub", "/lost (deleted)/sub"),
    Case("*", "/*"),
    Case("\udcff\udcfe", "/\udcff\udcfe"),
    Case(LONGEST, f"/{LONGEST}"),
    Case(f"{LONGEST}/../etc", "/etc"),
    # The longest path.
    Case("./" * 2046 + "etc", "/etc"),
    Case("/" * 4092 + "etc", "/etc"),
    Case("etc/../" * 584 + "etc/sub", "/etc/sub"),
    # Links to files and directories.
    Case("file", "/etc/passwd"),
    Case("file-absolute", "/etc/passwd"),
    Case("etc/file-beside", "/etc/passwd"),
    Case("directory", "/etc/sub"),
    Case("directory/", "/etc/sub"),
    Case("directory//", "/etc/sub"),
    Case("directory/.", "/etc/sub"),
    Case("directory/deep", "/etc/sub/deep"),
    Case("directory-absolute", "/etc/sub"),
    Case("directory-absolute/deep/", "/etc/sub/deep"),
    Case("directory-slash", "/etc/sub"),
    Case("directory-slash/deep", "/etc/sub/deep"),
    Case("directory-dot", "/etc/sub"),
    Case("to-fifo", "/run/fifo"),
    Case("slashes", "/etc/sub"),
    Case("dot/dot/etc", "/etc"),
    Case("etc/climb", "/etc/sub"),
    Case("etc/climb/../passwd", "/etc/passwd"),
    Case("etc/climb-absolute/deep", "/etc/sub/deep"),
    Case("root/etc/up/etc/passwd", "/etc/passwd"),
    # Links through links.
    *(Case(f"one/{one}{slash}", "/etc") for one in ("relative", "absolute") for slash in ("", "/")),
    *(
        Case(f"two/{two}/{one}/sub{slash}", "/etc/sub")
        for two in ("relative", "absolute")
        for one in ("relative", "absolute")
        for slash in ("", "/", "//")
    ),
    *(Case(f"two/{two}/../etc", "/etc") for two in ("relative", "absolute")),
    Case("three/relative", "/etc/sub"),
    Case("three/relative/", "/etc/sub"),
    Case("three/absolute/deep", "/etc/sub/deep"),
    Case("three/mixed", "/etc/passwd"),
    # What is before ``..`` counts, not its text.
    Case("cousins/away/..", "/etc"),
    Case("cousins/away/../passwd", "/etc/passwd"),
    Case("cousins/nephew/..", "/cousins/parent"),
    Case("cousins/nephew/../sibling", "/cousins/parent/sibling"),
    Case("cousins/nephew/../../nephew/../child", "/cousins/parent/child"),
    Case("cousins/away/../../cousins/nephew", "/cousins/parent/child"),
    # 40 links are followed.
    Case("hop/40", "/etc/sub"),
    Case("hop/40/", "/etc/sub"),
    Case("hop/20/../../hop/20", "/etc/sub"),
    Case("dot/" * 40, "/"),
]

_FAILED: Final = [
    *_fail(
        ENOENT,
        ("nowhere", "/nowhere"),
        ("nowhere/", "/nowhere"),
        ("nowhere/..", "/nowhere"),
        ("nowhere/../etc", "/nowhere"),
        ("etc/sub/nowhere/../x/y", "/etc/sub/nowhere"),
        ("empty/a/b/c/d/e", "/empty/a"),
        ("../../nowhere", "/nowhere"),
        ("directory/nowhere/x", "/etc/sub/nowhere"),
        ("cousins/away/../sibling", "/etc/sibling"),
        ("two/absolute/relative/nowhere/../sub", "/etc/nowhere"),
        ("three/relative/nowhere", "/etc/sub/nowhere"),
        ("dangling", "/nowhere"),
        ("dangling/", "/nowhere"),
        ("dangling/..", "/nowhere"),
        ("dangling-absolute", "/no"),
        ("dangling-deep", "/etc/sub/nowhere"),
        ("dangling-deep/x", "/etc/sub/nowhere"),
        ("dangling-back", "/etc/nowhere"),
        ("dangling-back/../etc", "/etc/nowhere"),
        ("dangling-chain", "/nowhere"),
        ("maze/in", "/maze/d/e/f/missing"),
        ("maze/in/x", "/maze/d/e/f/missing"),
        ("..dots", "/..dots"),
        ("m" * 255, "/" + "m" * 255),
        ("....", "/...."),
    ),
    *_fail(
        ENOTDIR,
        ("etc/passwd/", "/etc/passwd"),
        ("etc/passwd//", "/etc/passwd"),
        ("etc/passwd/.", "/etc/passwd"),
        ("etc/passwd/./", "/etc/passwd"),
        ("etc/passwd/..", "/etc/passwd"),
        ("etc/passwd/../sub", "/etc/passwd"),
        ("etc/passwd/x", "/etc/passwd"),
        ("etc/passwd/x/..", "/etc/passwd"),
        (f"etc/passwd/{LONGEST}n", "/etc/passwd"),
        ("run/fifo/", "/run/fifo"),
        ("run/fifo/x", "/run/fifo"),
        ("run/socket/..", "/run/socket"),
        ("file/", "/etc/passwd"),
        ("file/.", "/etc/passwd"),
        ("file/x", "/etc/passwd"),
        ("file-absolute//", "/etc/passwd"),
        ("file-slash", "/etc/passwd"),
        ("file-slash/", "/etc/passwd"),
        ("file-dot", "/etc/passwd"),
        ("through-file", "/etc/passwd"),
        ("through-file-back", "/etc/passwd"),
        ("three/mixed/", "/etc/passwd"),
        ("to-fifo/", "/run/fifo"),
    ),
    *_fail(
        ELOOP,
        ("loop", "/loop"),
        ("loop/", "/loop"),
        ("loop/x", "/loop"),
        ("loop/..", "/loop"),
        ("../../loop/../..", "/loop"),
        ("etc/../loop", "/loop"),
        ("loop-absolute", "/loop-absolute"),
        ("loop-absolute/./..", "/loop-absolute"),
        ("loop-dot", "/loop-dot"),
        ("loop-up", "/loop-up"),
        ("loop-under", "/loop-under"),
        ("ping", "/ping"),
        ("pong", "/pong"),
        ("ring/a/next", "/ring/a/next"),
        ("ring/d/next", "/ring/d"),
        ("hop/41", "/hop/1"),
        ("hop/42", "/hop/2"),
        ("hop/20/../../hop/21", "/hop/1"),
        ("dot/" * 41, "/dot"),
        ("dot/" * 40 + "file", "/file"),
    ),
    *_fail(
        ENAMETOOLONG,
        (f"{LONGEST}n", f"/{LONGEST}n"),
        (f"etc/{LONGEST}n/..", f"/etc/{LONGEST}n"),
        ("too-long", f"/{LONGEST}n"),
        ("too-long/x", f"/{LONGEST}n"),
        ("./" * 2046 + "./etc", "/" + "./" * 2046 + "./etc"),
        ("/" * 4093 + "etc", "/etc"),
        ("\udcff" * 4096, "/" + "\udcff" * 4096),
    ),
]

CASES: Final = [*_FOUND, *_FAILED]

LINKS: Final = [
    # What read_link answers: the text of the last component, which is not followed.
    ("file", "etc/passwd"),
    ("/directory-slash", "etc/sub/"),
    ("one/relative", "../etc"),
    ("two/absolute/relative", "../etc"),
    ("etc/up/dangling", "nowhere"),
    ("dangling", "nowhere"),
    ("loop", "loop"),
    ("hop/42", "41"),
    ("dot/etc/../up", ".."),
    ("directory/../climb", "../../../../../../etc/sub"),
]
NOT_LINKS: Final = [
    Case("etc", "/etc", EINVAL),
    Case("", "/", EINVAL),
    Case("etc/passwd", "/etc/passwd", EINVAL),
    Case("directory/", "/etc/sub", EINVAL),
    Case("root/", "/", EINVAL),
    Case("nowhere", "/nowhere", ENOENT),
    Case("dangling/", "/nowhere", ENOENT),
    Case("file/", "/etc/passwd", ENOTDIR),
    Case("etc/passwd/x", "/etc/passwd", ENOTDIR),
    Case("loop/", "/loop", ELOOP),
    Case("loop/x", "/loop", ELOOP),
    Case(f"{LONGEST}n", f"/{LONGEST}n", ENAMETOOLONG),
]
