from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import SettingError
from app.postgres.settings import StartupFailure, parse_refusal, setting_error

REFUSALS = Path(__file__).parents[2] / "data/postgres/refusals"
VERSIONS = ("15.18", "16.14", "18.4")


def _read(version: str, case: str) -> StartupFailure:
    return parse_refusal((REFUSALS / f"{version}-{case}.txt").read_text())


def test_every_recorded_refusal_is_understood() -> None:
    files = sorted(REFUSALS.glob("*.txt"))
    assert len(files) == 54
    for file in files:
        refusal = parse_refusal(file.read_text())
        assert refusal.text, file.name
        assert "[" not in refusal.text[:40], file.name  # the line's prefix is gone


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", ["check-unknown", "start-unknown"])
def test_an_unknown_setting_is_named(version: str, case: str) -> None:
    refusal = _read(version, case)
    assert refusal.setting == "shard_buffers"
    assert refusal.is_unknown
    assert "in file" not in refusal.text


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("case", "setting", "words"),
    [
        ("check-unit", "shared_buffers", '"1GBB"'),
        ("check-range", "max_wal_size", "outside the valid range"),
        ("check-enum", "wal_sync_method", '"foo"'),
        ("check-boolean", "fsync", "requires a Boolean value"),
        ("check-fixed", "block_size", "cannot be changed"),
        ("check-number", "random_page_cost", '"1,5"'),
        ("check-zone", "TimeZone", '"Mars"'),
        ("start-value", "shared_buffers", '"1GBB"'),
        ("start-range", "max_wal_size", "outside the valid range"),
    ],
)
def test_a_refused_value_names_its_setting(version: str, case: str, setting: str, words: str) -> None:
    refusal = _read(version, case)
    assert (refusal.setting, refusal.is_unknown) == (setting, False)
    assert words in refusal.text


@pytest.mark.parametrize("version", VERSIONS)
def test_the_servers_hint_is_kept(version: str) -> None:
    assert _read(version, "check-enum").hint.startswith("Available values: fsync, fdatasync")
    assert _read(version, "start-value").hint.startswith("Valid units for this parameter")
    assert "reducing" in _read(version, "start-memory").hint


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("start-memory", "could not map anonymous shared memory: Cannot allocate memory"),
        ("start-combination", "WAL streaming"),
        ("start-connections", "must be less than"),
        ("start-preload", 'could not access file "nothing_here"'),
        ("start-syntax", "contains errors"),
        ("initdb-not-empty", "exists but is not empty"),
        ("initdb-not-allowed", "Permission denied"),
    ],
)
def test_other_failures_in_server_words(version: str, case: str, words: str) -> None:
    refusal = _read(version, case)
    assert words in refusal.text
    assert refusal.setting == ""
    assert setting_error(refusal, version) is None


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (["7 LOG: starting", "7 FATAL: first", "7 FATAL: second", "7 LOG: shut down"], "first"),
        (["7 FATAL: cause", "7 PANIC: cannot abort", "8 LOG: terminated"], "cause"),
        (["7 ERROR: cause", "9 LOG: other", "7 FATAL: then", "7 PANIC: at last"], "cause"),
        (["7 ERROR: of a client", "7 LOG: it went on", "7 FATAL: cause"], "cause"),
        (["7 FATAL: of a client", "9 FATAL: cause"], "cause"),
        (["9 PANIC: cause", "8 FATAL: the database system is in recovery mode"], "cause"),
        (["7 FATAL: cause", "7 HINT: help", "7 PANIC: then"], "cause"),
    ],
)
def test_first_cause(lines: list[str], cause: str) -> None:
    found = (line.split(" ", 2) for line in lines)
    text = "".join(f"1.5 [{process}] {severity}  {words}\n" for process, severity, words in found)
    assert parse_refusal(text).text == cause


def test_f17_initdb() -> None:
    refusal = parse_refusal((REFUSALS.parent / "initdb-shm.txt").read_text())
    assert refusal.text.startswith("could not resize shared memory segment")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('initdb: error: no space\ninitdb: removing data directory "/x"\n', "no space"),
        (
            'Aborted\nchild process exited with exit code 134\ninitdb: removing data directory "/x"\n',
            "child process exited with exit code 134",
        ),
        (
            'child process was terminated by signal 9\ninitdb: data directory "/x" not removed at request\n',
            "child process was terminated by signal 9",
        ),
    ],
)
def test_chatter_of_initdb_is_no_cause(text: str, cause: str) -> None:
    assert parse_refusal(text).text == cause


def test_error_without_fatal_then_log_line() -> None:
    assert parse_refusal("1 [7] ERROR:  bad\n2 [7] LOG:  later\n").text == "bad"
    assert parse_refusal("1 [7] LOG:  one\n2 [7] LOG:  two\n").text == "two"


def test_output_before_logging_is_an_error() -> None:
    text = (
        'postgres: could not access directory "/x": No such file or directory\nRun initdb or pg_basebackup.\n'
    )
    assert parse_refusal(text).text == 'could not access directory "/x": No such file or directory'


def test_hint_of_another_line_ignored() -> None:
    text = "1 [7] FATAL:  bad\n2 [7] LOG:  other\n2 [7] HINT:  of the other\n"
    assert parse_refusal(text).hint == ""


def test_silence_gives_an_empty_text() -> None:
    assert parse_refusal("\n \n") == StartupFailure("")


def test_unknown_setting_suggests_nearest() -> None:
    error = setting_error(_read("15.18", "check-unknown"), "15.18", "Did you mean “shared_buffers”?")
    assert isinstance(error, SettingError)
    assert error.message == "postgresql.settings.shard_buffers: PostgreSQL 15.18 has no such setting."
    assert error.hint == "Did you mean “shared_buffers”?"


def test_refused_value_has_server_hint() -> None:
    error = setting_error(_read("18.4", "check-unit"), "18.4")
    assert error is not None
    assert error.message.startswith("postgresql.settings.shared_buffers: PostgreSQL 18.4 answered: invalid")
    assert error.hint.startswith("Valid units")


@given(st.text())
def test_every_output_but_silence_gives_a_text(text: str) -> None:
    assert bool(parse_refusal(text).text) == bool(text.strip())
