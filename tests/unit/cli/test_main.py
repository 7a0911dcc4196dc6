"""The command as its caller sees it: arguments, exit statuses, streams."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from app import VERSION
from app.arguments import declared
from app.arguments.declared import build_parser
from app.cli import main
from app.domain.errors import BusyError, CampaignError, FootingError, RefusedError
from app.library.query import FIELDS
from tests.fix_forked import Command
from tests.made_runs import finished_run, write_run

TOP = Path(__file__).resolve().parents[3]
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
HOSTILE = "[red]x[/red] \x1b]0;owned\x07 \x9b31m \u202egpj"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Folders of this test alone, no display; warnings are errors."""
    folders = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("DATA", "STATE", "CACHE")}
    kept = {name: value for name, value in os.environ.items() if name not in DISPLAYS}
    return {**kept, **folders, "PYTHONWARNINGS": "error"}


@pytest.fixture
def call(command: Command, environment: dict[str, str]) -> Command:
    """The command with the environment as it is at the call."""
    return partial(command, environment=environment)


def start(
    environment: dict[str, str], *arguments: str, script: str = 'exec "$@"'
) -> subprocess.CompletedProcess[str]:
    """Start the command inside a shell script."""
    return subprocess.run(
        ("bash", "-c", script, "bash", sys.executable, "-m", "app", *arguments),
        cwd=TOP,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


@pytest.mark.parametrize(
    ("arguments", "words"), [(["show", "~nobody-here/a.footing"], "does not exist"), ([], "no display")]
)
def test_usage_error_exits_2(call: Command, arguments: list[str], words: str) -> None:
    ended = call(*arguments)
    assert ended.returncode == 2
    assert ended.stderr.startswith("pgfooting: ")
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (CampaignError("bad"), 2),
        (RefusedError("bad"), 3),
        (BusyError("bad"), 1),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("bad"), 1),
        (MemoryError(), 1),
        (OSError(5, "bad"), 1),
    ],
)
def test_errors_are_sentences_with_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, status: int
) -> None:
    def fail(_argv: object) -> int:
        raise error

    monkeypatch.setattr(main, "_execute", fail)
    assert main.main([]) == status
    errors = capsys.readouterr().err
    assert errors.startswith("pgfooting: ")
    assert "Traceback" not in errors


def test_hint_and_message_escaped_for_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_argv: object) -> int:
        raise FootingError(HOSTILE, hint="one\ntwo\x1b[2J")

    monkeypatch.setattr(main, "_execute", fail)
    main.main([])
    errors = capsys.readouterr().err
    assert "\x1b" not in errors
    assert "\\x1b]0;owned" in errors
    assert errors.splitlines()[1:] == ["  one", "  two\\x1b[2J"]


def test_foreign_error_text_truncated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_argv: object) -> int:
        raise FootingError("x\u200b" + "y" * 10**6 + "\nrm -rf /" * 1000, hint="z" * 10**6)

    monkeypatch.setattr(main, "_execute", fail)
    main.main([])
    errors = capsys.readouterr().err
    assert errors.startswith("pgfooting: x\\u200by")
    assert len(errors) < 10_000
    assert all(line.startswith("  ") for line in errors.splitlines()[1:])


def test_version_and_help_import_nothing_heavy(environment: dict[str, str]) -> None:
    code = (
        "import sys; from app.cli.main import main; status = main([sys.argv[1]]);"
        "heavy = {'numpy', 'psycopg', 'rich', 'gi', 'psutil'} & set(sys.modules);"
        "sys.exit(f'{heavy}' if heavy else status)"
    )
    for argument, words in (("--version", VERSION), ("--help", "Exit status")):
        ended = subprocess.run(
            (sys.executable, "-c", code, argument),
            cwd=TOP,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        assert words in ended.stdout
        assert ended.stderr == ""


def test_unknown_log_level(environment: dict[str, str]) -> None:
    ended = start({**environment, "PGFOOTING_LOG": "loud"}, "list")
    assert ended.returncode == 2
    assert "PGFOOTING_LOG" in ended.stderr
    assert "debug" in ended.stderr


# --- streams


@pytest.mark.parametrize(
    "arguments",
    [("list", "--json"), *(pytest.param(each, marks=pytest.mark.long) for each in (("list",), ("--help",)))],
)
def test_closed_pipe_ends_silently(
    environment: dict[str, str], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    ended = start(environment, *arguments, script='"$@" | head -c 0; exit "${PIPESTATUS[0]}"')
    assert ended.returncode in {0, 1, 141}  # 141: ended by SIGPIPE, as any program
    assert ended.stderr == ""


def test_full_output_exits_1(environment: dict[str, str]) -> None:
    ended = start(environment, "list", "--json", script='exec "$@" > /dev/full')
    assert ended.returncode == 1
    assert "No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


@pytest.mark.parametrize(
    "closed",
    ["<&- >&- 2>&-", *(pytest.param(each, marks=pytest.mark.long) for each in ("<&-", ">&-", "2>&-"))],
)
def test_closed_streams_are_no_error(environment: dict[str, str], closed: str) -> None:
    ended = start(environment, "list", script=f'exec "$@" {closed}')
    assert ended.returncode == 0
    assert ended.stderr == ""


def test_locale_without_unicode_prints_escapes(environment: dict[str, str], tmp_path: Path) -> None:
    write_run(tmp_path / "a.footing", values={"name": "größe ✔"}).close()
    plain = {**environment, "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = start(plain, "list", "--library", str(tmp_path))
    assert ended.returncode == 0, ended.stderr
    assert "gr" in ended.stdout


@pytest.mark.parametrize("home", [None, ""])
def test_without_home_the_user_database_is_asked(environment: dict[str, str], home: str | None) -> None:
    changed = {name: value for name, value in environment.items() if name != "HOME"}
    if home is not None:
        changed["HOME"] = home
    del changed["XDG_DATA_HOME"]
    ended = start(changed, "list", "--json")
    assert ended.returncode == 0, ended.stderr


# --- a library with everything in it


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    good = finished_run(folder / "good.footing")
    (folder / "cut.footing").write_bytes(good.read_bytes()[:5000])
    good.chmod(0o400)
    values = {"id": "ffff000011112222", "name": HOSTILE, "started_epoch_s": 1e300, "campaign": HOSTILE}
    writer = write_run(folder / "hostile.footing", values=values)  # type: ignore[arg-type]
    with writer.transaction():
        writer.add_mark("unsafe", HOSTILE)
        writer.add_event(1, "note", HOSTILE)
        writer.add_unavailable(1, HOSTILE, HOSTILE)
    writer.close()
    write_run(folder / "long.footing", values={"id": "eeee", "name": "n" * 80}).close()
    return folder


def test_list_search_words_and_fields(call: Command, library: Path) -> None:
    def names(*words: str) -> list[str]:
        listed = call("list", "--json", "--library", str(library), "--", *words).stdout
        return sorted(Path(run["path"]).stem for run in json.loads(listed))

    everything = names()
    assert names("state:done") == ["good"]
    assert "good" in names("ext4")
    assert names("state:unreadable") == ["cut"]
    assert names("-state:unreadable") == [name for name in everything if name != "cut"]
    assert names("name:ext4 #1") == ["good"], "the shell has parted the words"
    ended = call("list", "--library", str(library), "nowhere")
    assert ended.returncode == 0
    assert f"None of the {len(everything)} runs in {library} matches: nowhere" in ended.stdout
    [good] = json.loads(
        call("list", "--json", "--library", str(library), "state:done scale:13 clients:8").stdout
    )
    assert good["dimensions"]["filesystem"] == "ext4"
    output = " ".join(call("list", "--help").stdout.split())
    assert all(f"{field}:" in output for field in FIELDS)


def test_list_readable_and_unreadable_runs(call: Command, library: Path) -> None:
    ended = call("list", "--library", str(library))
    assert ended.returncode == 0, ended.stderr
    assert "ext4 #1" in ended.stdout
    assert "unreadable" in ended.stdout
    assert f"{library}/cut.footing is truncated" in ended.stdout
    listed = json.loads(call("list", "--json", "--library", str(library)).stdout)
    states = {Path(run["path"]).stem: run["state"] for run in listed}
    assert states == {
        "good": "done",
        "cut": "unreadable",
        "hostile": "incomplete",
        "long": "incomplete",
    }
    keys = {
        "id", "path", "name", "state", "target", "filesystem", "raid", "scale", "workload", "clients", "tps",
        "started", "duration_s",
    }  # fmt: skip
    assert all(keys <= set(run) for run in listed)


@pytest.mark.parametrize(
    "arguments", [["list"], ["list", "--json"], ["show", "ffff"], ["show", "ffff", "--json"]]
)
@pytest.mark.parametrize("terminal", [False, True])
def test_texts_of_run_files_are_plain_text(
    environment: dict[str, str],
    call: Command,
    library: Path,
    arguments: list[str],
    terminal: bool,  # noqa: FBT001
) -> None:
    if terminal:
        environment |= {"FORCE_COLOR": "1", "COLUMNS": "200", "TERM": "xterm"}
    ended = call(*arguments, "--library", str(library))
    assert ended.returncode == 0, ended.stderr
    for harmful in ("\x1b]", "\x07", "\x9b", "\u202e"):
        assert harmful not in ended.stdout
    assert "[red]x[/red]" in ended.stdout


def test_damaged_run_show_and_export(call: Command, library: Path) -> None:
    cut = str(library / "cut.footing")
    for arguments in (("show", cut), ("show", "--json", cut), ("export", cut, "-o", str(library / "o.csv"))):
        ended = call(*arguments)
        assert ended.returncode == 1
        assert "is truncated" in ended.stderr
        assert ended.stdout == ""
    assert not (library / "o.csv").exists()


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_narrow_terminal_wraps_names_only(
    environment: dict[str, str], call: Command, library: Path, columns: int
) -> None:
    environment |= {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": str(columns), "TERM": "xterm"}
    ended = call("list", "--library", str(library))
    lines = re.sub("\x1b\\[[0-9;]*m", "", ended.stdout).splitlines()
    table = [line for line in lines if str(library) not in line and "Hidden columns" not in line]
    assert all(len(line) <= columns for line in table)
    assert any("ab12cd34" in line for line in lines)
    assert sum(line.count("n") for line in table if set(line.strip()) == {"n"}) > 20
    assert "Hidden columns: Scale" in ended.stdout or columns == 120


def test_missing_library_is_empty(call: Command, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert json.loads(call("list", "--json", "--library", missing).stdout) == []
    assert "No runs in" in call("list", "--library", missing).stdout


def test_long_path_whole_sentence_wrapped(environment: dict[str, str], call: Command, tmp_path: Path) -> None:
    folder = tmp_path / ("deep" * 40)
    folder.mkdir()
    (folder / "a.footing").write_text("x")
    environment |= {"FORCE_COLOR": "1", "COLUMNS": "60", "TERM": "xterm"}
    ended = call("list", "--library", str(folder))
    assert str(folder / "a.footing") in ended.stdout
    assert "is not a pgFooting run file." in ended.stdout


def test_figures_have_four_significant_digits(call: Command, tmp_path: Path) -> None:
    figures = {"tps": 4721.77, "transactions": 14166.0, "latency_p99_ms": 0.98854, "jitter_cv": float("inf")}
    finished_run(tmp_path / "a.footing", summary=dict(figures))
    ended = call("show", str(tmp_path / "a.footing"))
    shown = {tuple(line.split()[-2:]) for line in ended.stdout.splitlines()}
    assert ("4,722", "1/s") in shown
    assert ("0.9885", "ms") in shown
    assert "14,166" in ended.stdout
    assert "inf" in ended.stdout


def test_commands_are_there() -> None:
    named = re.findall(r'command="([\w.]+:\w+)"', Path(declared.__file__).read_text("utf-8"))
    assert len(set(named)) >= len(build_parser().commands) - 3  # help, completion; open is replay
    assert all(callable(main.command_of(each)) for each in named)
