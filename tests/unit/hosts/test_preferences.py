"""The preferences of a user: what stands in the file counts only where nobody else could have written it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest

from app.domain import text
from app.domain.errors import UsageError
from app.preferences import (
    CHOICES,
    LANGUAGE_VARIABLE,
    Preferences,
    preferences_path,
    preferred_paper,
    read_preferences,
    settle_language,
    write_preferences,
)

TEXT = 'when_done = "systemctl suspend"\nnotify = false\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    made = tmp_path / "preferences.toml"
    made.write_text(TEXT)
    made.chmod(0o600)
    return made


def test_what_stands_in_the_file_is_preferred(path: Path) -> None:
    assert read_preferences(path) == (Preferences("systemctl suspend", notify=False), "")


def test_no_file_means_no_preferences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_preferences(tmp_path / "gone") == (Preferences(), "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert preferences_path() == tmp_path / "pgfooting/preferences.toml"
    assert read_preferences() == (Preferences(), "")


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_file_writable_by_others_is_ignored(path: Path, mode: int) -> None:
    path.chmod(mode)
    preferences, reason = read_preferences(path)
    assert preferences == Preferences()
    assert "other users could change" in reason


def test_folder_writable_by_others_is_ignored(path: Path) -> None:
    path.parent.chmod(0o777)
    assert "other users could change" in read_preferences(path)[1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_file_of_another_user_with_root(path: Path) -> None:
    os.chown(path, 65534, 65534)
    preferences, reason = read_preferences(path)
    assert (preferences.when_done, "other users could change" in reason) == ("", True)


def test_links_and_non_files_are_ignored(path: Path, tmp_path: Path) -> None:
    link, fifo = tmp_path / "link", tmp_path / "fifo"
    link.symlink_to(path)
    os.mkfifo(fifo, 0o600)
    for each in (link, fifo, tmp_path):
        preferences, reason = read_preferences(each)
        assert preferences == Preferences()
        assert "was ignored" in reason


@pytest.mark.parametrize(
    "text",
    [
        "when_done = 3",
        "theme = 'pink'",
        "library = 'runs'",
        "repeats = 101",
        "repeats = true",
        'notify = "yes"',
        "[when_done]",
        "when_done = ",
        "\xff",
        "a." * 9,
    ],
)
def test_damaged_file_is_reported_and_ignored(path: Path, text: str) -> None:
    path.write_bytes(text.encode("latin-1"))
    preferences, reason = read_preferences(path)
    assert preferences == Preferences()
    assert reason.startswith(f"{path} was ignored: ")


OTHERS = Preferences(
    'say "done" \\ \x7f é',
    notify=False,
    library="/srv/ü runs",
    theme="dark",
    contrast="high",
    language="de",
    paper="letter",
    repeats=7,
)
"""Another value of every preference."""


def test_other_values_cover_every_preference() -> None:
    standard = asdict(Preferences())
    assert [name for name, value in asdict(OTHERS).items() if value == standard[name]] == []


@pytest.mark.parametrize("name", [each.name for each in fields(Preferences)])
def test_each_preference_alone_and_with_all(path: Path, name: str) -> None:
    wanted = replace(Preferences(), **{name: getattr(OTHERS, name)})
    for each in (wanted, OTHERS, wanted, Preferences()):
        assert write_preferences(each, path) is None
        assert read_preferences(path) == (each, "")


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in CHOICES for value in CHOICES[name]])
def test_each_offered_choice_is_read_again(path: Path, name: str, value: str) -> None:
    wanted = replace(Preferences(), **{name: value})  # type: ignore[arg-type] # of texts only
    write_preferences(wanted, path)
    assert read_preferences(path) == (wanted, "")


def test_foreign_and_later_entries_are_kept(path: Path) -> None:
    path.write_text("# mine\nnotify = true # always\nlater = 3\n\n[table]\nnotify = 'not this'\n")
    preferences, remarks = read_preferences(path)
    assert preferences == Preferences()
    assert "'later', 'table'" in remarks
    write_preferences(replace(preferences, repeats=5, notify=False), path)
    text = path.read_text()
    assert text == "# mine\nnotify = false\nlater = 3\n\nrepeats = 5\n[table]\nnotify = 'not this'\n"


def test_first_write_makes_private_folder_and_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "preferences.toml"
    assert write_preferences(OTHERS, path) is None
    assert (path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_damaged_file_is_kept_beside_new_one(path: Path) -> None:
    path.write_text("when_done = ")
    assert write_preferences(OTHERS, path) == path.with_name("preferences.toml.damaged")
    assert path.with_name("preferences.toml.damaged").read_text() == "when_done = "
    assert read_preferences(path) == (OTHERS, "")


def test_multi_line_value_is_left_alone(path: Path) -> None:
    before = "when_done = '''\nlong'''\n"
    path.write_text(before)
    with pytest.raises(UsageError, match="edit it by hand"):
        write_preferences(OTHERS, path)
    assert path.read_text() == before


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        write_preferences(OTHERS, tmp_path / "file" / "preferences.toml")


@pytest.mark.parametrize(
    ("preferred", "environment", "paper"),
    [
        ("country", {"LANG": "en_US.UTF-8"}, "letter"),
        ("country", {"LANG": "en_US.UTF-8", "LC_PAPER": "de_DE.UTF-8"}, "a4"),
        ("country", {"LANG": "de_DE", "LC_PAPER": "de_DE", "LC_ALL": "fr_CA@x"}, "letter"),
        ("country", {"LANG": "C.UTF-8"}, "a4"),
        ("country", {}, "a4"),
        ("a4", {"LANG": "en_US"}, "a4"),
        ("letter", {"LANG": "de_DE"}, "letter"),
    ],
)
def test_paper_format_by_country_unless_chosen(
    preferred: str, environment: dict[str, str], paper: str
) -> None:
    assert preferred_paper(Preferences(paper=preferred), environment) == paper


def test_language_variable_is_defined_alike() -> None:
    assert LANGUAGE_VARIABLE == text.LANGUAGE_VARIABLE


def test_the_environment_counts_before_the_preferred_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    environment: dict[str, str] = {}
    settle_language(environment)
    assert environment == {}
    write_preferences(OTHERS)
    settle_language(environment)
    assert environment == {LANGUAGE_VARIABLE: "de"}
    asked = {LANGUAGE_VARIABLE: "cs"}
    settle_language(asked)
    assert asked == {LANGUAGE_VARIABLE: "cs"}


@pytest.mark.parametrize("module", ["app", "ui"])
def test_preferred_language_from_the_first_text(tmp_path: Path, module: str) -> None:
    write_preferences(replace(Preferences(), language="de"), tmp_path / "pgfooting" / "preferences.toml")
    clean = {name: value for name, value in os.environ.items() if name not in {LANGUAGE_VARIABLE, "LC_ALL"}}
    environment = {**clean, "LANGUAGE": "en", "XDG_CONFIG_HOME": str(tmp_path)}
    ask = (
        "import runpy, sys; sys.argv = ['x', '--version']\n"
        f"try: runpy.run_module('{module}', run_name='__main__')\n"
        "except SystemExit: pass\n"
        "from app.domain.text import LANGUAGE; print(LANGUAGE)"
    )
    argv = (sys.executable, "-c", ask)
    found = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "de"
