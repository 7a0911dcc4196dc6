"""Whatever the bytes are, importing ends with a report, and what it writes are sound run files."""

from __future__ import annotations

import io
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.domain.errors import ForeignDataError
from app.importers.files.members import BadLines
from app.importers.formats import outputs, storage_texts
from app.importers.formats.outputs import split_output
from app.importers.formats.storage_texts import parse_results
from app.importers.importing import import_paths
from app.library.entries import UNREADABLE, read_entry
from app.runfile.reader import RunFile
from tests.unit.importers.made_logs import summary_text, write_log

VONDRA = Path(__file__).resolve().parents[2] / "data" / "import" / "vondra-2022" / "i5" / "20220907-mdraid"
RECORDED = Path(__file__).resolve().parents[2] / "data" / "pgbench" / "15"
SOURCES = (
    *(
        RECORDED / f"{name}{end}"
        for name in ("rate", "everything")
        for end in (".out", ".err", ".log", ".log.1")
    ),
    RECORDED / "aggregate_everything.log",
    VONDRA / "results.csv",
    VONDRA / "0/xfs/settings.log",
    VONDRA / "0/xfs/pg.log",
    VONDRA / "0/xfs/1000/run-rw-1/stat-database.csv",
    VONDRA / "0/xfs/1000/run-rw-1/pgbench_log.tgz",
)


def mutated(content: bytes, seed: int, amount: int) -> bytes:
    """Some bytes changed, cut out, doubled, or replaced by what parsers stumble over."""
    dice = random.Random(seed)  # noqa: S311 - damage, no secret
    data = bytearray(content)
    for _ in range(amount):
        place = dice.randrange(len(data) + 1)
        kind = dice.randrange(5)
        if kind == 0 and place < len(data):
            data[place] = dice.randrange(256)
        elif kind == 1:
            del data[place : place + dice.randrange(200)]
        elif kind == 2:
            data[place:place] = data[place : place + dice.randrange(300)]
        elif kind == 3:
            data[place:place] = dice.choice(
                (b"nan", b"-1", b"9" * 400, b"\n", b"\0", b"\r\n", b";", b"inf", b"/")
            )
        else:
            data[place:] = data[place : place + dice.randrange(1 + len(data))]
    return bytes(data)


@pytest.mark.long
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from(SOURCES), st.integers(0, 2**32), st.integers(0, 12)), min_size=1, max_size=6
    ),
    st.booleans(),
)
@example([(RECORDED / "aggregate_everything.log", 205349, 5)], False)  # noqa: FBT003 - as drawn
def test_mixed_damaged_files_never_stop_import(
    parts: list[tuple[Path, int, int]],
    together: bool,  # noqa: FBT001 - drawn
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="pgfooting-hostile-"))
    try:
        for number, (source, seed, amount) in enumerate(parts):
            place = folder / "runs" / ("all" if together else str(number))
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{number}-{source.name}").write_bytes(mutated(source.read_bytes(), seed, amount))
        report = import_paths([folder / "runs"], folder / "library", lambda _done, _total, _what: None)
        for each in report.imported:
            with RunFile(each.path) as run:
                run.check()
            assert read_entry(each.path).state != UNREADABLE
        assert not list(folder.rglob("*.part*"))
    finally:
        shutil.rmtree(folder)


def test_too_many_rows_or_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_texts, "MOST_ROWS", 2)
    row = "1662542438;1662546039;0;x;50;rw;1.5;2.5;7\n"
    with pytest.raises(ForeignDataError, match="more than 2 entries"):
        parse_results(row * 3, "results.csv", BadLines())
    monkeypatch.setattr(outputs, "MOST_RUNS", 2)
    with pytest.raises(ForeignDataError, match="more than 2 runs"):
        split_output(io.BytesIO(summary_text(10, 1, seconds=10).encode() * 3), "all.log", BadLines())


def test_file_failing_midway_others_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        made = write_log(tmp_path / "runs" / name, [100] * 12, pid=ord(name))
        (tmp_path / "runs" / name / "out.txt").write_text(
            made.summary.replace("10", "11" if name == "b" else "10")
        )

    def fail(*_arguments: object) -> None:
        raise OSError(5, "Input/output error")

    real = "app.importers.runs.timeline.read_transactions"
    monkeypatch.setattr(real, fail)
    report = import_paths([tmp_path / "runs"], tmp_path / "library", lambda _done, _total, _what: None)
    assert [each.reason for each in report.problems] == ["cannot be read: Input/output error"] * 2
    assert not report.imported
