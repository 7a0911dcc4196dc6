"""What of a campaign that was begun counts, and where it can go on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from app.campaign_file.reader import parse_campaign
from app.campaign_file.writer import state_campaign
from app.domain.campaign.configuration import Campaign
from app.domain.errors import BusyError, RefusedError, UsageError
from app.domain.run import RunState
from app.execution.resume.begun import attempt_of, begun_runs, check_folder
from app.library.campaign_end import CampaignEnd, clear_end, read_end, write_end
from app.library.entries import CAMPAIGN_NAME, END_NAME, CampaignLock
from tests.fix_window import Trial, write_trial

FILE = 'name = "x"\norder = "AB BA"\nrepeats = 2\n[target.memory]\n'
TWO = '[[configuration]]\nname = "a"\n[[configuration]]\nname = "b"\n'
CAMPAIGN = parse_campaign(FILE + TWO, base_directory="/", source_name="x")
NAMES = {1: "01-a-r1", 2: "02-b-r1", 3: "03-b-r2", 4: "04-a-r2"}


def run_of(folder: Path, name: str, **more: object) -> Path:
    """Write a run file by its name; it is done unless something else is said."""
    trial = Trial(configuration=name.split("-")[1], started=1.8e9)
    return write_trial(folder / f"{name}.footing", replace(trial, **more))  # type: ignore[arg-type]


def folder_of(folder: Path, campaign: Campaign = CAMPAIGN) -> Path:
    (folder / CAMPAIGN_NAME).write_text(state_campaign(campaign))
    return folder


def done(folder: Path) -> dict[int, list[str]]:
    runs = begun_runs(folder, CAMPAIGN).done
    return {number: [Path(each.path or "").stem for each in runs[number]] for number in sorted(runs)}


def test_only_runs_that_are_done_count(tmp_path: Path) -> None:
    for number, state in enumerate((RunState.DONE, RunState.FAILED, RunState.STOPPED, RunState.RUNNING), 1):
        run_of(tmp_path, NAMES[number], state=state)
    assert done(tmp_path) == {1: ["01-a-r1"]}


def test_attempts_ordered_by_name_not_clock(tmp_path: Path) -> None:
    run_of(tmp_path, "01-a-r1", started=1.9e9)
    for attempt in (2, 10):
        run_of(tmp_path, f"01-a-r1-{attempt}", started=1.8e9 - attempt)
    assert done(tmp_path) == {1: ["01-a-r1", "01-a-r1-2", "01-a-r1-10"]}
    attempts = [each.planned.attempt for each in begun_runs(tmp_path, CAMPAIGN).done[1]]
    assert attempts == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "attempt"),
    [("01-a-r1", 1), ("01-a-r12", 1), ("01-a-r1-2", 2), ("07-x-r3-9-r1-4", 4), ("01-odd", 1)],
)
def test_attempt_suffix_in_name(name: str, attempt: int) -> None:
    assert attempt_of(Path(f"{name}.footing")) == attempt


def test_damaged_file_counts_as_missing(tmp_path: Path) -> None:
    whole = run_of(tmp_path, NAMES[1])
    run_of(tmp_path, NAMES[2])
    damaged = tmp_path / f"{NAMES[3]}.footing"
    damaged.write_bytes(whole.read_bytes()[:5000])
    (tmp_path / f"{NAMES[4]}.footing").write_text("no run file")
    found = begun_runs(tmp_path, CAMPAIGN)
    assert sorted(found.done) == [1, 2]
    assert {path.stem for path in found.unreadable} == {NAMES[3], NAMES[4]}
    assert all(reason.endswith(".") for reason in found.unreadable.values())


def test_foreign_configuration_or_number_not_counted(tmp_path: Path) -> None:
    run_of(tmp_path, NAMES[1], configuration="b")
    run_of(tmp_path, "77-a-r1")
    run_of(tmp_path, "a-r1", configuration="a")
    assert done(tmp_path) == {}


def test_one_file_never_counts_twice(tmp_path: Path) -> None:
    path = run_of(tmp_path, NAMES[1])
    (tmp_path / f"{NAMES[1]}-2.footing").symlink_to(tmp_path / "gone")
    assert done(tmp_path) == {1: [path.stem]}
    assert len(begun_runs(tmp_path, CAMPAIGN).results) == 1


def check(folder: Path, campaign: Campaign = CAMPAIGN) -> None:
    check_folder(folder, (folder / CAMPAIGN_NAME).read_text(), campaign)


def test_complete_folder_refused_with_rerun_hint(tmp_path: Path) -> None:
    folder_of(tmp_path)
    for name in NAMES.values():
        check(tmp_path)
        run_of(tmp_path, name)
    with pytest.raises(UsageError, match="is complete") as refused:
        check(tmp_path)
    assert str(tmp_path / CAMPAIGN_NAME) in refused.value.hint


def test_folder_of_running_campaign_refused(tmp_path: Path) -> None:
    folder_of(tmp_path)
    run_of(tmp_path, NAMES[1])
    lock = CampaignLock(tmp_path)
    with pytest.raises(BusyError):
        check(tmp_path)
    lock.release()
    check(tmp_path)


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """Without the rights of root, who may write everywhere."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_unwritable_folder_refused_before_questions(open_folder: Path) -> None:
    folder_of(open_folder)
    open_folder.chmod(0o555)
    with as_somebody_else(), pytest.raises(RefusedError, match="not writable"):
        check(open_folder)
    open_folder.chmod(0o755)


def test_changed_script_named(tmp_path: Path) -> None:
    (tmp_path / "own.sql").write_text("SELECT 1;\n")
    text = FILE + '[workload]\nscript = {file = "own.sql"}\n'
    folder_of(tmp_path, parse_campaign(text, base_directory=tmp_path, source_name="x"))
    check(tmp_path, parse_campaign(text, base_directory=tmp_path, source_name="x"))
    (tmp_path / "own.sql").write_text("SELECT 2;\n")
    with pytest.raises(UsageError, match=r"have changed .*own\.sql"):
        check(tmp_path, parse_campaign(text, base_directory=tmp_path, source_name="x"))


def test_end_state_read_back_damaged_is_open(tmp_path: Path) -> None:
    assert read_end(tmp_path) is None
    for end in CampaignEnd:
        write_end(tmp_path, end)
        assert read_end(tmp_path) is end
    clear_end(tmp_path)
    assert read_end(tmp_path) is None
    for text in ("", "{", "[]", "3", '{"end": 3}', '{"end": "else"}', '{"end": ["stopped"]}'):
        (tmp_path / END_NAME).write_text(text)
        assert read_end(tmp_path) is None
    write_end(tmp_path / "nowhere", CampaignEnd.STOPPED)
