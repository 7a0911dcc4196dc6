"""What was read of run files is kept for whoever goes on, and holds only as long as the files do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.campaign_file.reader import parse_campaign
from app.domain.campaign.configuration import Campaign, interleaved_order
from app.execution.resume import begun
from app.execution.resume.begun import DoneRun, KnownRuns, begun_runs, remember_run
from tests.campaign_bench import Bench
from tests.fix_window import Trial, write_trial

pytestmark = pytest.mark.usefixtures("own_folders")

FILE = 'name = "x"\nrepeats = 2\norder_seed = 1\n[target.folder]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "campaign"
    made.mkdir()
    write_trial(made / "01-x-r1.footing", Trial(seconds=3))
    return made


def campaign_of(folder: Path) -> Campaign:
    """The campaign of which the written run is one: its configuration has that name."""
    read = begun._read_done(next(folder.glob("*.footing")))
    assert read is not None
    text = FILE.replace('"x"', f'"{read.configuration}"')
    return parse_campaign(text, base_directory="/", source_name="x")


def count_readings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    read: list[Path] = []
    original = begun._read_done

    def counted(path: Path) -> DoneRun | None:
        read.append(path)
        return original(path)

    monkeypatch.setattr(begun, "_read_done", counted)
    return read


def test_run_file_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign, read = campaign_of(folder), count_readings(monkeypatch)
    first = begun_runs(folder, campaign)
    assert list(first.done) == [interleaved_order(campaign)[0].number]
    again = begun_runs(folder, campaign)
    assert again == first
    assert len(read) == 1


def test_resume_reads_files_once_without_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = FILE.replace("= 2", "= 3") + '[[configuration]]\nname = "a"\n[[configuration]]\nname = "b"\n'
    campaign = parse_campaign(text, base_directory="/", source_name="x")
    monkeypatch.setattr(begun, "index_path", lambda _folder: None)
    stopped = Bench(tmp_path, campaign, lambda number, _attempt: "stopped" if number == 5 else "")
    assert not stopped.run(monkeypatch).is_complete
    there, read = sorted(tmp_path.glob("*.footing")), count_readings(monkeypatch)
    again = Bench(tmp_path, campaign, lambda _number, _attempt: "")
    assert len(again.run(monkeypatch).results) == 6
    assert [path for path in read if path in there] == there


def test_written_run_known_on_resume(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = campaign_of(folder)
    remember_run(folder, next(folder.glob("*.footing")))
    read = count_readings(monkeypatch)
    assert list(begun_runs(folder, campaign).done) == [1]
    assert read == []


@pytest.mark.parametrize("spoilt", ["touched", "damaged", "torn", "garbage"])
def test_cache_invalid_after_file_change(folder: Path, monkeypatch: pytest.MonkeyPatch, spoilt: str) -> None:
    campaign = campaign_of(folder)
    path = next(folder.glob("*.footing"))
    begun_runs(folder, campaign)
    kept = KnownRuns.of(folder).path
    assert kept is not None
    match spoilt:
        case "touched":
            os.utime(path, ns=(1, 1))
        case "damaged":
            path.write_bytes(b"no run file")
        case "torn":
            kept.write_bytes(kept.read_bytes()[:-20])
        case _:
            kept.write_bytes(b'\xff{"format": 3}\n[]\nnull\n{"name": 1}\n')
    read = count_readings(monkeypatch)
    found = begun_runs(folder, campaign)
    assert read == [path]
    assert list(found.unreadable) == ([path] if spoilt == "damaged" else [])
    assert list(found.done) == ([] if spoilt == "damaged" else [1])
