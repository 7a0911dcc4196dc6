"""Names, tags and notes that people give to runs: in the run file, and nowhere a measurement could suffer."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.domain.errors import FootingError, NotARunFileError, RunFileError, UsageError
from app.domain.run import RunState
from app.library.entries import CampaignLock, read_entry
from app.library.files import (
    NAME_LIMIT,
    NOTE_LIMIT,
    TAG_LIMIT,
    TAGS_LIMIT,
    Annotations,
    annotate,
    clean_name,
    clean_note,
    read_tags,
)
from app.runfile.reader import RunFile
from tests.fix_runs import change_run
from tests.fix_window import Trial, begin_trial, write_trial


def test_annotations_in_file_and_list(tmp_path: Path) -> None:
    path = write_trial(tmp_path / "a.footing", Trial("ext4 #1"))
    with RunFile(path) as run:
        before = run.summary(), run.marks(), run.phases()
    annotate(path, Annotations(name="before the new disks", tags=("baseline", "old"), note="Cold start."))
    entry = read_entry(path)
    assert (entry.name, entry.tags, entry.note) == (
        "before the new disks",
        ("baseline", "old"),
        "Cold start.",
    )
    with RunFile(path) as run:
        assert run.values["measured_name"] == "ext4 #1"
        assert (run.summary(), run.marks(), run.phases()) == before
        run.check()
    assert list(tmp_path.iterdir()) == [path], "no journal stays behind"


def test_measured_name_survives_renaming(tmp_path: Path) -> None:
    path = write_trial(tmp_path / "a.footing", Trial("ext4 #1", campaign="Trial"))
    annotate(path, Annotations(name="one", campaign="Disks of 2026"))
    annotate(path, Annotations(name="two"))
    with RunFile(path) as run:
        assert run.values["name"] == "two"
        assert run.values["measured_name"] == "ext4 #1"
        assert run.values["measured_campaign"] == "Trial"
        assert run.values["campaign"] == "Disks of 2026"


def test_unset_kept_unchanged_not_written(tmp_path: Path) -> None:
    path = write_trial(tmp_path / "a.footing", Trial("ext4 #1"))
    annotate(path, Annotations(tags=("old",)))
    written = path.read_bytes()
    annotate(path, Annotations(name="ext4 #1", tags=("old",), note=""))
    assert path.read_bytes() == written
    annotate(path, Annotations(note="x"))
    assert read_entry(path).tags == ("old",)
    annotate(path, Annotations(tags=()))
    assert read_entry(path).tags == ()


def test_running_run_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    writer = begin_trial(path, Trial("ext4 #1", state=RunState.RUNNING))
    lock = CampaignLock(tmp_path)
    with pytest.raises(RunFileError, match="still being measured"):
        annotate(path, Annotations(name="x"))
    writer.close()
    lock.release()


def test_text_file_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    path.write_text("hello")
    with pytest.raises(NotARunFileError):
        annotate(path, Annotations(name="x"))
    assert path.read_text() == "hello"


def test_file_with_trigger_refused(tmp_path: Path) -> None:
    path = write_trial(tmp_path / "a.footing", Trial())
    change_run(path, "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM summary; END")
    with pytest.raises(RunFileError, match="its trigger “t” is not part of format 1"):
        annotate(path, Annotations(name="x"))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM summary").fetchone() != (0,)


def test_unwritable_file_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_trial(tmp_path / "a.footing", Trial())
    opened = Path.open

    def refuse(self: Path, mode: str = "r", **more: object) -> object:
        if self == path and "+" in mode:
            raise OSError(30, "Read-only file system")
        return opened(self, mode, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(RunFileError, match="Read-only file system") as caught:
        annotate(path, Annotations(name="x"))
    assert "copy it into the library" in caught.value.hint


def test_names_tags_and_notes_are_cleaned() -> None:
    assert clean_name("  two\n words\t") == "two words"
    assert read_tags(" a, #b ,, a,\nc d ") == ("a", "b", "c d")
    assert read_tags("") == ()
    assert clean_note("one  \r\n\ttwo\x00\n\n") == "one\ntwo"


@pytest.mark.parametrize(
    ("clean", "text"),
    [
        (clean_name, " \n "),
        (clean_name, "x" * (NAME_LIMIT + 1)),
        (read_tags, ",".join(map(str, range(TAGS_LIMIT + 1)))),
        (read_tags, "x" * (TAG_LIMIT + 1)),
        (clean_note, "x" * (NOTE_LIMIT + 1)),
    ],
)
def test_unprintable_text_refused_with_limit(clean: object, text: str) -> None:
    assert callable(clean)
    with pytest.raises(UsageError) as caught:
        clean(text)
    assert isinstance(caught.value, FootingError)
    assert (
        any(digit in caught.value.message for digit in "0123456789") or "at least one" in caught.value.message
    )
