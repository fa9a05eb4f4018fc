"""The benchmarks: they work, in small, and their page has the rows that they print. No time is."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devroot import _syscalls
from tests._children import environment, in_child
from tests._kernel_nodes import dev_root_at, on_tmpfs
from tests.benchmarks import (
    _machine,
    _page,
    _peers,
    _timing,
    bench_cdi,
    bench_mknod,
    bench_mounts,
    bench_resolve,
)
from tests.benchmarks import run as command
from tests.benchmarks._rows import (
    Comparison,
    Figure,
    LeftOut,
    compared,
    from_json,
    to_json,
)
from tests.benchmarks._timing import FULL, QUICK, Clock, Contender, Effort, take_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from tests.benchmarks._rows import Row

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "benchmarks.md"
ROWS = [each for name in command.NAMES for each in command.comparisons_of(name)]
LIMITED = Comparison(name="x.limited", what="one", against="other", limit=1.5)
TOLD = Comparison(name="x.told", what="`one`", against="`other`", clock=Clock.WALL)


def names_of(rows: Iterator[Row]) -> list[str]:
    """Return the names of the rows."""
    return [row.comparison.name for row in rows]


def giving(answer: Callable[[], object]) -> Callable[..., object]:
    """Return what gives an answer whatever it is called with."""

    def call(*_arguments: object, **_more: object) -> object:
        return answer()

    return call


@contextlib.contextmanager
def on_path(directory: Path, **programmes: str) -> Generator[None, None, None]:
    """Let the path lead to programmes made of these shell scripts, and to nothing else."""
    for name, script in programmes.items():
        file = directory / name.replace("_", "-")
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(directory))
        yield


@pytest.mark.parametrize("name", [name for name in command.NAMES if name != "mknod"])
def test_each_benchmark_gives_all_its_rows(name: str) -> None:
    """A benchmark that is run in small gives each row that it names, in their order."""
    rows = [*command.measured(name, QUICK)]
    assert names_of(iter(rows)) == [each.name for each in command.comparisons_of(name)]
    assert all(row.ratio != 0 for row in rows if isinstance(row, Figure))
    missing = {row.reason for row in rows if isinstance(row, LeftOut)}
    assert all(
        re.search("not on the path|not installed|openat2 is refused", reason) for reason in missing
    )


def test_where_openat2_is_refused_the_walk_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of openat2 are left out where a filter refuses it; what else is compared stays."""

    def refuse(*_arguments: object, **_more: object) -> object:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(_syscalls, "openat2", refuse)
    monkeypatch.setattr(bench_resolve, "bare", giving(lambda: refuse))
    rows = [*bench_resolve.measure(QUICK)]
    assert names_of(iter(rows)) == [each.name for each in bench_resolve.COMPARISONS]
    left_out = {row.comparison.name: row.reason for row in rows if isinstance(row, LeftOut)}
    assert left_out.keys() == {
        each.name for each in bench_resolve.COMPARISONS if "openat2" in each.what + each.against
    }
    assert all(reason.startswith("openat2 is refused here: ") for reason in left_out.values())


def nvidia_nodes() -> list[str]:
    """Return what the machine's own ``/dev`` has of what the benchmark makes."""
    return sorted(name for name in os.listdir("/dev") if name.startswith(("nvidia", "few-")))


def _names_of_node_benchmark() -> list[tuple[str, str]]:
    return [
        (row.comparison.name, row.reason if isinstance(row, LeftOut) else "")
        for row in bench_mknod.measure(QUICK)
    ]


@pytest.mark.kernel
def test_the_benchmark_of_nodes_gives_all_its_rows() -> None:
    """As root, device nodes are made in a place of their own; only a peer is left out."""
    before = nvidia_nodes()
    rows = dict(in_child(_names_of_node_benchmark, own_mounts=True))
    assert list(rows) == [each.name for each in bench_mknod.COMPARISONS]
    assert {name for name, reason in rows.items() if reason} <= {"mknod.nvidia-modprobe"}
    assert nvidia_nodes() == before


def _against_nvidia_modprobe(place: str) -> tuple[str, list[str]]:
    dev_root = dev_root_at(place)
    (row,) = bench_mknod.against_nvidia_modprobe(dev_root, rounds=2)
    said = row.reason if isinstance(row, LeftOut) else "compared"
    return said, sorted(os.listdir(f"{place}/dev"))


@pytest.mark.kernel
def test_nvidia_modprobe_works_on_a_dev_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that knows no place but ``/dev`` makes its nodes where the benchmark wants them."""
    before = nvidia_nodes()
    script = 'for each; do minor=${each#*=}; mknod "/dev/nvidia$minor" c 195 "$minor"; done'
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "nvidia-modprobe").write_text(f"#!/bin/sh\nset -e\n{script}\n")
    (tmp_path / "nvidia-modprobe").chmod(0o755)
    (tmp_path / "place").mkdir()

    said, names = on_tmpfs(tmp_path / "place", _against_nvidia_modprobe)

    assert said == "compared"
    assert names == [f"nvidia{minor}" for minor in range(8)]
    assert nvidia_nodes() == before


def test_without_root_no_node_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without root each row of device nodes is left out, and says why."""
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    rows = [*bench_mknod.measure(QUICK)]
    assert names_of(iter(rows)) == [each.name for each in bench_mknod.COMPARISONS]
    assert {row.reason for row in rows if isinstance(row, LeftOut)} == {
        "it needs root, to make device nodes"
    }


def test_contenders_take_turns() -> None:
    """Each contender acts once a round, after its scene is set, and the first round is not told."""
    told: list[str] = []

    def contender(name: str) -> Contender:
        return Contender(
            act=lambda: told.append(name), before=lambda: told.append(f"before {name}"), repeats=2
        )

    seconds = take_turns({name: contender(name) for name in "ab"}, rounds=3, clock=Clock.WALL)

    turns = [tuple(told[at : at + 3]) for at in range(0, len(told), 3)]
    assert sorted(set(turns)) == [("before a", "a", "a"), ("before b", "b", "b")]
    assert [turn[1] for turn in turns[:2]] != [turn[1] for turn in turns[2:4]]  # another order
    assert len(turns) == 8
    assert {name: len(each) for name, each in seconds.items()} == {"a": 3, "b": 3}


def test_time_counts_for_one_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a turn is divided by how often it is done and by how many things each does."""
    now = iter(range(0, 1000, 60))
    monkeypatch.setattr(_timing.Clock, "now", giving(lambda: next(now)))
    contenders = {"a": Contender(act=lambda: None, repeats=5, units=4)}
    assert take_turns(contenders, rounds=2, clock=Clock.CPU) == {"a": [3.0, 3.0]}


def test_the_clock_of_the_processor_counts_children() -> None:
    """A child process that computes moves the clock of the processor by what it used."""
    begin = Clock.CPU.now()
    subprocess.run([sys.executable, "-c", "sum(range(300_000))"], check=True)
    assert Clock.CPU.now() > begin
    with open("/proc/self/stat", encoding="ascii") as stat:
        waited_for = [int(field) for field in stat.read().rpartition(")")[2].split()[13:15]]
    assert Clock.CPU.now() >= sum(waited_for) / os.sysconf("SC_CLK_TCK")


def test_a_figure_is_the_median_of_ratios() -> None:
    """A figure is the median of the ratios of the rounds, with the middle half of them."""
    figure = LIMITED.figure([9.0, 1.0, 2.0, 3.0, 1.5])
    assert (figure.ratio, figure.low, figure.high) == (2.0, 1.5, 3.0)
    assert figure.is_above
    assert figure.cells == ("2.00", "1.50 to 3.00")
    assert not LIMITED.figure([1.5]).is_above
    assert not TOLD.figure([99.0]).is_above


def test_ratios_are_taken_within_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ratio is that of two times of one round: a slow machine slows both of them down."""
    seconds = {"slow": [2.0, 20.0, 200.0], "quick": [1.0, 10.0, 100.0]}
    monkeypatch.setattr("tests.benchmarks._rows.take_turns", giving(lambda: seconds))
    (figure,) = compared({LIMITED: ("slow", "quick")}, {}, rounds=3)
    assert (figure.low, figure.ratio, figure.high) == (2.0, 2.0, 2.0)


def test_effort_has_a_least() -> None:
    """However little effort is made, there is a round and something to work on."""
    assert (QUICK.rounds_of(200), QUICK.size_of(10)) == (1, 2)
    assert (Effort(rounds=3).rounds_of(20), FULL.size_of(2048)) == (60, 2048)


@pytest.mark.parametrize("row", [LIMITED.figure([1.0, 2.0]), TOLD.left_out("it is away")])
def test_rows_pass_from_process_to_process(row: Row) -> None:
    """A row is the same after it was told by one process and read by another."""
    assert from_json(to_json(row), {LIMITED.name: LIMITED, TOLD.name: TOLD}) == row


def test_the_page_has_the_rows_that_are_printed() -> None:
    """The page shows each row once, with what is compared, its limit and its clock, and no other.

    No figure in it is above its limit, and each row is explained in a line of its own.
    """
    page = PAGE.read_text()
    shown = _page.lines_in(page)
    expected = [_page.line_of(each.left_out("")) for each in ROWS]
    assert [(line.name, line.text, line.limit, line.clock) for line in shown] == [
        (line.name, line.text, line.limit, line.clock) for line in expected
    ]
    measured = {line.name: float(line.measured) for line in shown if line.measured[0].isdigit()}
    assert {line.name for line in shown if line.limit[0].isdigit()} <= measured.keys()
    above = [
        line.name
        for line in shown
        if line.limit[0].isdigit() and measured[line.name] > float(line.limit)
    ]
    assert above == []
    explained = [
        name
        for line in page.partition(_page.END)[2].splitlines()
        if line.startswith("- `")
        for name in re.findall(r"`\w+\.[\w-]+`", line.partition(":")[0])
    ]
    assert sorted(explained) == sorted(f"`{each.name}`" for each in ROWS)


def test_the_page_names_the_machine() -> None:
    """The page says when and on what it was measured: all that the command prints of it."""
    page = PAGE.read_text()
    block = page.partition(_page.BEGIN)[2].partition(_page.END)[0]
    assert [name for name in _machine.facts() if f"\n| {name} | " not in block] == []


def test_names_say_of_which_benchmark_a_row_is() -> None:
    """No two rows have one name, and each starts with the name of its benchmark."""
    assert len({each.name for each in ROWS}) == len(ROWS)
    for name in command.NAMES:
        assert all(each.name.startswith(f"{name}.") for each in command.comparisons_of(name))


def test_only_the_block_of_figures_is_written_anew() -> None:
    """A new block takes the place of the old one, and what stands around it stays."""
    old = f"before\n\n{_page.BEGIN}\nthose of last year\n{_page.END}\n\nafter\n"
    rows: list[Row] = [LIMITED.figure([1.25]), TOLD.left_out("other is not on the path")]
    new = _page.with_block(old, _page.block({"kernel": "Linux 6.18"}, rows))
    assert new.startswith(f"before\n\n{_page.BEGIN}\n")
    assert new.endswith(f"\n{_page.END}\n\nafter\n")
    assert "last year" not in new
    assert "\n| kernel | `Linux 6.18` |\n" in new
    first, second = _page.lines_in(new)
    assert first == _page.Line(
        name="`x.limited`",
        text="one / other",
        limit="1.5",
        measured="1.25",
        middle="1.25 to 1.25",
        clock="processor",
    )
    assert (second.measured, second.middle) == ("\N{EN DASH}", "other is not on the path")


def test_a_page_without_the_block_is_refused() -> None:
    """A page that has lost a mark is left alone, and the error names the mark."""
    with pytest.raises(_page.PageError, match="The end of the figures"):
        _page.with_block(f"before\n{_page.BEGIN}\nno end\n", "")


def test_a_peer_that_fails_is_left_out(tmp_path: Path) -> None:
    """A peer that is on the path and fails is left out with its status and what it says."""
    with on_path(tmp_path, nvidia_ctk="echo no such command >&2; exit 3"):
        (row,) = bench_cdi.against_nvidia_ctk("{}", rounds=1)
    assert isinstance(row, LeftOut)
    assert row.reason == "nvidia-ctk ends with status 3 here: no such command"


def test_a_peer_that_works_is_compared(tmp_path: Path) -> None:
    """A peer that is on the path is given the file with the spec, and compared."""
    told = tmp_path / "told"
    text = '{"cdiVersion": "0.6.0", "kind": "vendor.com/x", "devices": []}'
    script = f'for last; do :; done; read text <"$last"; echo "$1 $2 $3 $text" >>{told}'
    with on_path(tmp_path, nvidia_ctk=script):
        (row,) = bench_cdi.against_nvidia_ctk(text, rounds=2)
    assert isinstance(row, Figure)
    lines = told.read_text().splitlines()
    assert len(lines) == 4  # once to see whether it works, once before the rounds that count
    assert set(lines) == {f"cdi transform root {text}"}


def test_versions_of_peers(tmp_path: Path) -> None:
    """The version of each peer is told, whatever it prints around it, or that it is away."""
    with on_path(tmp_path, findmnt="echo findmnt from util-linux 2.38.1", mknod="exit 1"):
        found = _peers.versions()
    assert found["findmnt"] == "2.38.1"
    assert found["mknod"] == "of an unknown version"
    assert found["nvidia-ctk"] == "not installed"
    assert list(found) == [*_peers.LIBRARIES, *_peers.PROGRAMMES]


def test_a_library_that_is_away_is_told() -> None:
    """A module that is not installed is named by the error."""
    with pytest.raises(_peers.MissingError, match="no_such_library is not installed"):
        _peers.library("no_such_library")


def test_tables_in_both_formats_list_the_same() -> None:
    """The table that psutil reads has the mount points of the one that devroot reads."""
    data = bench_mounts.mountinfo_of(40)
    points = [line.split(b" ")[4] for line in data.splitlines()]
    assert [line.split(b" ")[1] for line in bench_mounts.mtab_of(data).splitlines()] == points
    assert len(points) == 40


def run_command(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command on the devroot of this test."""
    script = str(Path(command.__file__))
    return subprocess.run(
        [sys.executable, script, *words],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )


def test_one_command_prints_the_table() -> None:
    """The command prints the machine, the rows of the benchmarks asked for, and the block."""
    done = run_command("--quick", "--markdown", "resolve", "mknod")
    assert done.stderr == ""
    assert done.returncode == 0
    above, _, block = done.stdout.partition(_page.BEGIN)
    for name in _machine.facts():
        assert f"\n{name} " in f"\n{above}"
    wanted = [each.name for name in ("resolve", "mknod") for each in command.comparisons_of(name)]
    assert re.findall(r"^((?:resolve|mknod)\.\S+) ", above, re.MULTILINE) == wanted
    assert [line.name for line in _page.lines_in(_page.BEGIN + block)] == [
        f"`{name}`" for name in wanted
    ]


def test_the_command_refuses_what_it_cannot_do() -> None:
    """A benchmark that there is not is refused by name, and figures that mean nothing by page."""
    unknown = run_command("nothing")
    assert unknown.returncode == 2
    assert "there is no benchmark nothing; only cdi, import, mknod, mounts" in unknown.stderr
    for words in (["--write-page", "cdi"], ["--write-page", "--quick"]):
        assert run_command(*words).returncode == 2


def test_a_figure_above_its_limit_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The command fails if a ratio is above its limit, names the row, and writes no page."""
    page = tmp_path / "page.md"
    page.write_text(f"{_page.BEGIN}\n{_page.END}\n")
    monkeypatch.setattr(command, "PAGE", page)
    monkeypatch.setattr(command, "NAMES", ("x",))
    ratio = 1.6
    rows = giving(lambda: iter([LIMITED.figure([ratio])]))
    monkeypatch.setattr(command, "rows_of", rows)

    assert command.main(["--write-page"]) == 1
    assert "above their limits: x.limited\n" in capsys.readouterr().out
    assert page.read_text() == f"{_page.BEGIN}\n{_page.END}\n"

    ratio = 1.5
    assert command.main(["--write-page"]) == 0
    assert [line.measured for line in _page.lines_in(page.read_text())] == ["1.50"]
