"""What pgbench printed, in files that people keep: copied, quoted, coloured, annotated, joined, huge."""

from __future__ import annotations

import io
import re
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import ForeignDataError
from app.importers.files.members import BadLines, file_member
from app.importers.formats import outputs
from app.importers.formats.file_types import FileType, kind_of
from app.importers.formats.outputs import PgbenchOutput, find_prefixes, is_output, split_output
from tests.unit.importers.imports import DATA, RECORDED, bring_in, only
from tests.unit.importers.made_logs import summary_text

FOREIGN = DATA / "import" / "foreign"
PRINTED = (RECORDED / "18" / "tpcb.err").read_text() + (RECORDED / "18" / "tpcb.out").read_text()


def read(text: str) -> tuple[PgbenchOutput, ...]:
    return split_output(io.BytesIO(text.encode()), "out.txt", BadLines())


def figures(output: PgbenchOutput) -> object:
    assert output.summary is not None
    return output.summary.tps, output.summary.clients, list(output.progress.times_s), output.summary.version


STAMPS = ("2026-03-01T10:00:{s:02}.{n:09}Z ", "2026-03-01 10:00:{s:02},{m:03} ", "Mar  1 10:00:{s:02} ")
PARTS = (
    *("    ", "\t", "> ", "> > ", "| ", "bench-1  | ", "pod/bench-7x [bench] ", "db01 pgbench[4242]: "),
    *("[bench] ", "out: ", "1. ", "{s:02}:59:00 ", "[{s:5}.{m:06}] ", "17000000{s:02}.{m:03} ", *STAMPS),
)


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=3), st.sampled_from(["", "\x1b[32m"]))
def test_any_prefix(parts: list[str], colour: str) -> None:
    lines = PRINTED.splitlines()
    end = "\x1b[0m" if colour else ""
    texts = [
        colour + "".join(parts).format(s=at % 60, m=at * 7 % 1000, n=at * 7919) + line + end
        for at, line in enumerate(lines)
    ]
    text = "\n".join(texts)
    assert is_output(text.encode())
    (output,) = read(text)
    assert figures(output) == figures(read(PRINTED)[0])


@pytest.mark.parametrize("name", ["coloured", "compose", "indented", "quoted", "stamped"])
def test_f14(name: str) -> None:
    member = file_member(FOREIGN / "F14-prefixed" / f"{name}.txt")
    assert kind_of(member) is FileType.OUTPUT
    (output,) = read(member.head.decode())
    assert output.summary is not None
    assert (output.summary.tps, output.summary.clients, output.summary.other_lines) == (2000.0, 16, ())


def test_two_containers_in_one_file() -> None:
    first, second = summary_text(100, 10.0, seconds=10), summary_text(900, 90.0, seconds=10)
    woven = [
        line
        for pair in zip(first.splitlines(), second.splitlines(), strict=True)
        for line in (f"bench-1  | {pair[0]}", f"bench-2  | {pair[1]}", "db-1  | LOG:  checkpoint starting")
    ]
    found = [each.summary for each in read("\n".join(woven))]
    assert [(each.tps, each.transactions) for each in found if each] == [(10.0, 100), (90.0, 900)]


@pytest.mark.parametrize(
    "text",
    [
        "We measured tps = 2000.000000 (without initial connection time) on Monday.\n",
        "Options: number of clients: 16\nscaling factor: 100 is the default\n",
        "see: number of clients: 16\nor: number of threads: 4\n",
        "+ echo progress: 5.0 s done\n",
        "the transaction type: <builtin: TPC-B (sort of)>\n",
        "",
    ],
)
def test_words_of_pgbench_in_other_texts(text: str) -> None:
    assert find_prefixes(text) is None
    assert not is_output(text.encode())


def test_output_at_end_of_long_file(tmp_path: Path) -> None:
    noise = "".join(f"{count} of 100000 tuples (1%) done\n" for count in range(3000))
    (tmp_path / "all.txt").write_text(noise + summary_text(100, 10.0, seconds=10))
    assert only(bring_in(tmp_path / "library", tmp_path)).tps == 10.0


@pytest.mark.parametrize("name", ["F13-trailing-blanks", "F13b-annotated"])
def test_f13(tmp_path: Path, name: str) -> None:
    assert only(bring_in(tmp_path, FOREIGN / name)).tps == 2000.0


def test_f08(tmp_path: Path) -> None:
    (output,) = read((FOREIGN / "F08-latency-colon" / "v95.txt").read_text())
    assert output.summary is not None
    assert (output.summary.latency_ms, output.summary.latency_stddev_ms) == (8.0, 3.5)
    assert only(bring_in(tmp_path, FOREIGN / "F08-latency-colon")).tps == 1000.0


@pytest.mark.parametrize("name", ["F07-old-abort", "F07b-abort-no-summary"])
def test_f07(tmp_path: Path, name: str) -> None:
    assert "aborted" in only(bring_in(tmp_path, FOREIGN / name)).marks


def test_client_without_a_connection(tmp_path: Path) -> None:
    """Before 14 pgbench printed its figures all the same, of the clients that were left."""
    text = 'connection to database "bench" failed:\nFATAL:  sorry, too many clients already\n'
    (tmp_path / "out.txt").write_text(text + summary_text(600, 10.0, seconds=60))
    assert "aborted" in only(bring_in(tmp_path / "library", tmp_path)).marks


def test_version_that_was_asked_for() -> None:
    """`pgbench --version` tells neither what was measured nor the server's."""
    text = summary_text(600, 10.0, seconds=60).replace("pgbench (15.4)", "pgbench (PostgreSQL) 13.2")
    (output,) = read(text)
    assert output.summary is not None
    assert (output.summary.version, output.summary.other_lines) == ("", ("pgbench (PostgreSQL) 13.2",))


def test_fewer_than_planned(tmp_path: Path) -> None:
    text = summary_text(5210, 200.0, seconds=10).replace("processed: 5210", "processed: 5210/8000")
    (tmp_path / "out.txt").write_text(text)
    assert "aborted" in only(bring_in(tmp_path / "library", tmp_path)).marks
    (tmp_path / "out.txt").write_text(text.replace("5210/8000", "8000/8000"))
    assert "aborted" not in only(bring_in(tmp_path / "other", tmp_path)).marks


REPORT = "progress: {second}.0 s, 2380.0 tps, lat 6.723 ms stddev 2.100, 0 failed\n"


@pytest.mark.parametrize("line", [REPORT, "NOTICE: row {second} of a table that a script writes about\n"])
@pytest.mark.long
def test_memory_is_of_the_figures(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.setattr(outputs, "_KEPT_LETTERS", 1024)

    def peak(seconds: int) -> int:
        text = "".join(line.format(second=second) for second in range(1, seconds))
        stream = io.BytesIO(text.encode() + summary_text(100, 10.0, seconds=10).encode())
        del text
        tracemalloc.start()
        try:
            (output,) = split_output(stream, "out.txt", BadLines())
            assert output.summary is not None
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    less, more = peak(30_000), peak(120_000)
    assert more - less < 90_000 * 80  # five columns with their times; a line alone is 70 letters


def test_text_between_is_left_out_and_counted() -> None:
    noise = "".join(f"NOTICE: {number:060}\n" for number in range(20_000))
    (output,) = read(f"first\n{noise}{summary_text(100, 10.0, seconds=10)}")
    assert output.stdout.startswith("first\n")
    assert "lines omitted]" in output.stdout
    assert len(output.stdout) < 300_000
    (other,) = read(f"first\n{noise.replace('0' * 50, '1' * 50)}{summary_text(100, 10.0, seconds=10)}")
    assert output.left_out != other.left_out


def test_more_reports_than_a_month(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "MOST_REPORTS", 5)
    with pytest.raises(ForeignDataError, match="more than 5 "):
        read("".join(REPORT.format(second=second) for second in range(1, 9)))


@pytest.mark.parametrize(
    "head", ["pgbench (17.4)\n", "0 1 900 0 1700000000 250000\n", "name|setting\n", "NAME\n", "t_s,tps\n"]
)
@pytest.mark.parametrize("size", [0, 10 * 1024**3])
def test_header_only_or_ten_gigabytes(tmp_path: Path, head: str, size: int) -> None:
    path = tmp_path / "tree" / "odd.txt"
    path.parent.mkdir()
    path.write_text(head)
    with path.open("r+b") as file:
        file.truncate(max(size, len(head)))
    (path.parent / "good.txt").write_text(summary_text(100, 10.0, seconds=10))
    report = bring_in(tmp_path / "library", path.parent)
    assert 10.0 in [each.tps for each in report.imported]


@pytest.mark.parametrize("number", ["9" * 5000, "\u00b2", "-1"])
@pytest.mark.parametrize(
    "before", ["number of clients: ", "number of transactions actually processed: ", "stddev 1.0, "]
)
def test_numbers_without_an_end(tmp_path: Path, before: str, number: str) -> None:
    text = REPORT.format(second=1).replace("2.100", "1.0") + summary_text(600, 10.0, seconds=60)
    (tmp_path / "out.txt").write_text(re.sub(rf"{before}\d+", f"{before}{number}", text))
    assert len(bring_in(tmp_path / "library", tmp_path).imported) == 1


@pytest.mark.parametrize("head", [b"", b"pgbench (17.4) ", b"tps = 1", b"0 1 900 0 1700000000 250000 "])
def test_one_line(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "one.txt").write_bytes(head + b"x" * 5_000_000)
    report = bring_in(tmp_path / "library", tmp_path)
    assert not report.imported
    assert len(report.left) == 1
