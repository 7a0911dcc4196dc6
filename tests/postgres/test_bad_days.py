"""What goes wrong on bad days, through the command line, with a real server and pgbench.

Every test ends with `campaign_bench` looking for anything that was left.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from app.domain.run import Phase
from app.runfile.reader import RunFile
from tests.fix_campaign import PATIENCE_S, TOP, CampaignBench, Running, campaign_text, kill
from tests.postgres.test_killed_runner import processes_of

pytestmark = pytest.mark.long

LONG = 'scale = 1\nclients = 2\nwarmup = "0s"\nduration = "60s"'
WARMED = 'scale = 1\nclients = 2\nwarmup = "1s"\nduration = "1s"'
SHORT = 'scale = 1\nclients = 2\nwarmup = "0s"\nduration = "1s"'


def _can_mount() -> bool:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    probe = ("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt")
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


needs_mounts = pytest.mark.skipif(
    not _can_mount(), reason="needs root that may mount in a namespace of its own"
)


def shell(bench: CampaignBench, script: str, *arguments: str, own_mounts: bool = False) -> tuple[str, ...]:
    """Return the argv of a shell script that gets the command (``"$@"``) with these arguments."""
    inner = ("sh", "-ec", script, "sh", sys.executable, "-m", "app", *arguments)
    return ("unshare", "--mount", *inner) if own_mounts else inner


def run_shell(
    bench: CampaignBench,
    script: str,
    *arguments: str,
    own_mounts: bool = False,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a shell script around the command."""
    return subprocess.run(
        shell(bench, script, *arguments, own_mounts=own_mounts),
        cwd=TOP,
        env={**bench.environment, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def start_in_own_mounts(bench: CampaignBench, mounts: str, text: str) -> Running:
    """Start a campaign where `mounts` were made for it alone."""
    arguments = ("run", bench.write(text), "--output", str(bench.library), "--progress", "json")
    with (bench.folder / "stderr.txt").open("w") as errors:
        process = subprocess.Popen(
            shell(bench, f'{mounts}\nexec "$@"', *arguments, own_mounts=True),
            cwd=TOP,
            env=bench.environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            stdin=subprocess.DEVNULL,
            text=True,
        )
    bench.started.append(process)
    return Running(process)


def beside(running: Running, script: str) -> str:
    """Run a shell script as root among the mounts of a running campaign; return what it printed."""
    entered = ("nsenter", "--mount", "--root", f"--target={running.process.pid}", "sh", "-ec", script)
    return subprocess.run(entered, capture_output=True, text=True, check=True).stdout


def errors_of(bench: CampaignBench) -> str:
    return (bench.folder / "stderr.txt").read_text()


def no_traceback(*texts: str) -> None:
    for text in texts:
        assert "Traceback" not in text, text
        assert "made a mistake" not in text, text


def only_run(bench: CampaignBench) -> dict[str, Any]:
    (listed,) = bench.listed()
    return listed


def stored_error(path: str) -> dict[str, str]:
    with RunFile(Path(path)) as run:
        run.check()
        error = run.values["error"]
    assert isinstance(error, dict)
    return {key: str(value) for key, value in error.items()}


def child_named(running: Running, name: str) -> list[int]:
    """Return the descendants of a runner that execute a program, the oldest first."""
    found = []
    for pid in sorted(processes_of(running.process.pid)):
        try:
            if Path(f"/proc/{pid}/comm").read_text().strip() == name:
                found.append(pid)
        except OSError:
            continue
    return found


# --- refused before anything was written


def test_refused_campaign_leaves_no_folder(campaign_bench: CampaignBench) -> None:
    text = campaign_text(memory=True).replace("shared_buffers", "shared_bufers")
    ended = campaign_bench.run(text, status=2)
    assert "postgresql.settings.shared_bufers" in ended.stderr
    no_traceback(ended.stderr, ended.stdout)
    assert ended.stdout == ""
    assert not campaign_bench.library.exists() or not list(campaign_bench.library.iterdir())


@needs_mounts
def test_without_postgresql_it_says_what_to_install(campaign_bench: CampaignBench) -> None:
    path = campaign_bench.write(campaign_text(memory=True))
    script = 'mount -t tmpfs none /usr/lib/postgresql\nexec "$@"'
    ended = run_shell(
        campaign_bench, script, "run", path, "--output", str(campaign_bench.library), own_mounts=True
    )
    assert ended.returncode == 1, ended.stderr
    assert "PostgreSQL" in ended.stderr
    assert "install" in ended.stderr
    no_traceback(ended.stderr)
    examined = run_shell(campaign_bench, script, "doctor", own_mounts=True)
    assert examined.returncode == 1
    assert "No usable PostgreSQL was found on this machine." in examined.stdout


# --- the user's script, pgbench and the server fail


def own_script(bench: CampaignBench, text: str) -> tuple[Path, str]:
    script = bench.folder / "orders of may.sql"
    script.write_text(text)
    workload = f'script = [{{file = "{script}"}}]\nscale = 1\nclients = 2\nwarmup = "0s"\nduration = "60s"'
    return script, campaign_text(memory=True, repeats=2, workload=workload)


def test_script_error_quotes_pgbench_and_file(campaign_bench: CampaignBench) -> None:
    _, text = own_script(campaign_bench, "SELECT 1;\nSELECT * FROM nosuch;\n")
    ended = campaign_bench.run(text, status=1)
    assert 'relation "nosuch" does not exist' in ended.stdout
    assert "orders of may.sql" in ended.stdout
    no_traceback(ended.stderr, ended.stdout)
    listed = campaign_bench.listed()
    assert {run["state"] for run in listed} == {"failed"}
    assert stored_error(listed[0]["path"])["code"] == "pgbench"
    with RunFile(Path(listed[0]["path"])) as run:
        assert "nosuch" in (run.output("measure.stderr") or "")
        assert "database system is ready" in (run.output("server.log") or "")


def test_unknown_meta_command_names_line(campaign_bench: CampaignBench) -> None:
    script, text = own_script(campaign_bench, "SELECT 1;\n\\nonsense here\n")
    ended = campaign_bench.run(text, status=1)
    assert f"{script}:2: invalid command" in ended.stdout
    assert "/dev/shm/pgfooting-" not in ended.stdout
    no_traceback(ended.stderr, ended.stdout)


def kill_pgbench(running: Running) -> None:
    os.kill(child_named(running, "pgbench")[0], signal.SIGKILL)


def kill_postmaster(running: Running) -> None:
    os.kill(child_named(running, "postgres")[0], signal.SIGKILL)


def kill_backend(running: Running) -> None:
    backends = [
        pid
        for pid in child_named(running, "postgres")
        if " pgbench [local]" in Path(f"/proc/{pid}/cmdline").read_bytes().decode()
    ]
    os.kill(backends[0], signal.SIGKILL)


@pytest.mark.parametrize(
    ("crash", "code", "words"),
    [
        pytest.param(kill_pgbench, "pgbench", "pgbench was killed by signal 9", marks=pytest.mark.longest),
        pytest.param(kill_postmaster, "server", "server stopped by itself", marks=pytest.mark.longest),
        (kill_backend, "server", "was terminated by signal 9"),
    ],
)
def test_killed_process_named_seconds_kept(
    campaign_bench: CampaignBench, crash: Callable[[Running], None], code: str, words: str
) -> None:
    running = campaign_bench.start(campaign_text(folder=campaign_bench.target, workload=LONG))
    running.until_second(2)
    crash(running)
    assert running.end() == 1
    listed = only_run(campaign_bench)
    assert listed["state"] == "failed"
    assert listed["tps"] > 0
    error = stored_error(listed["path"])
    assert error["code"] == code, error
    assert words in error["message"]
    no_traceback(errors_of(campaign_bench), error["message"])
    assert words in errors_of(campaign_bench)
    with RunFile(Path(listed["path"])) as run:
        assert len(run.samples("pgbench.tps")[1]) >= 2
        assert all(times.ended_ms is not None for times in run.phases())


def test_server_start_failure_in_own_words(campaign_bench: CampaignBench) -> None:
    text = campaign_text(memory=True, repeats=3).replace('"32MB"', '"500GB"')
    ended = campaign_bench.run(text, status=1)
    assert "could not map anonymous shared memory" in ended.stdout
    assert "would fail in the same way" in ended.stdout
    no_traceback(ended.stderr, ended.stdout)
    listed = only_run(campaign_bench)
    with RunFile(Path(listed["path"])) as run:
        assert "could not map anonymous shared memory" in (run.output("server.log") or "")


# --- the target


@needs_mounts
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("rm -rf {target}/pgfooting-*", "has vanished"),
        pytest.param("mv {target}/pgfooting-* {target}/elsewhere", "has vanished", marks=pytest.mark.longest),
        pytest.param("umount -l {target}", "has vanished", marks=pytest.mark.longest),
        ("fallocate -l $(($(stat -f -c '%a*%S' {target})-30*1024*1024)) {target}/filler", "nearly full"),
    ],
    ids=["removed", "renamed", "unmounted", "filled"],
)
def test_lost_target_named_as_cause(campaign_bench: CampaignBench, change: str, words: str) -> None:
    target = campaign_bench.target
    mounts = f"mount -t tmpfs -o size=1500m none {target}\nchown postgres {target}"
    running = start_in_own_mounts(campaign_bench, mounts, campaign_text(folder=target, workload=LONG))
    running.until_second(1)
    beside(running, change.format(target=target))
    status = running.end()
    assert status == 1
    listed = only_run(campaign_bench)
    error = stored_error(listed["path"])
    assert error["code"] == "target-lost", error
    assert words in error["message"]
    assert str(target) in error["message"]
    assert listed["state"] == "failed"
    no_traceback(errors_of(campaign_bench))


# --- the library


@needs_mounts
def test_full_library_keeps_measured_seconds(campaign_bench: CampaignBench) -> None:
    library = campaign_bench.library
    library.mkdir()
    outside = campaign_bench.folder / "saved"
    mounts = f"mount -t tmpfs -o size=4m none {library}"
    running = start_in_own_mounts(campaign_bench, mounts, campaign_text(memory=True, workload=LONG))
    running.until_second(2)
    namespace = os.open(f"/proc/{running.process.pid}/ns/mnt", os.O_RDONLY)
    root = os.open(f"/proc/{running.process.pid}/root", os.O_PATH | os.O_DIRECTORY)
    try:
        beside(running, f"dd if=/dev/zero of={library}/filler bs=4k 2>/dev/null || true")
        assert running.end() == 1
        assert "cannot be written" in errors_of(campaign_bench)
        assert "Free some space" in errors_of(campaign_bench)
        no_traceback(errors_of(campaign_bench))
        command = shlex.join((sys.executable, "-m", "app", "list", "--json", "--library", str(library)))
        script = f"cd {shlex.quote(str(TOP))}; rm -f {library}/filler; {command}; cp -a {library} {outside}"
        kept = f"/proc/{os.getpid()}/fd"
        places = (f"--mount={kept}/{namespace}", f"--root={kept}/{root}")
        entered = ("nsenter", *places, "sh", "-ec", script)
        listed = subprocess.run(
            entered, cwd=TOP, env=campaign_bench.environment, capture_output=True, text=True, check=True
        )
    finally:
        os.close(namespace)
        os.close(root)
    (entry,) = json.loads(listed.stdout)
    assert entry["state"] in {"failed", "incomplete"}
    assert entry["tps"] > 0
    (saved,) = outside.glob("*/*.footing")
    with RunFile(saved) as run:
        run.check()
        assert len(run.samples("pgbench.tps")[1]) >= 2
    assert [path.name for path in saved.parent.iterdir() if path.name.endswith(("-wal", "-shm"))] == []


@needs_mounts
def test_run_file_kept_until_library_writable(campaign_bench: CampaignBench) -> None:
    library = campaign_bench.library
    library.mkdir()
    outside = campaign_bench.folder / "saved"
    text = campaign_text(folder=campaign_bench.target, workload=LONG.replace("60s", "3s"))
    running = start_in_own_mounts(campaign_bench, ":", text)
    running.until_second(1)
    (folder,) = library.iterdir()
    namespace = os.open(f"/proc/{running.process.pid}/ns/mnt", os.O_RDONLY)
    root = os.open(f"/proc/{running.process.pid}/root", os.O_PATH | os.O_DIRECTORY)
    try:
        beside(running, f"mount -t tmpfs -o nr_inodes=1 none {folder}")
        assert running.end() == 1
        errors = errors_of(campaign_bench)
        no_traceback(errors)
        assert "No space left on device" in errors
        found = re.search(r"/dev/shm/pgfooting-\w+/01-folder-r1\.footing", errors)
        assert found, errors
        with RunFile(Path(found[0])) as run:
            assert run.summary()["tps"]
        command = shlex.join((sys.executable, "-m", "app", "list", "--library", str(library)))
        twice = f"{command} 2>&1; umount {folder}; {command} --json"
        script = f"cd {shlex.quote(str(TOP))}; {twice}; cp -a {library} {outside}"
        kept = f"/proc/{os.getpid()}/fd"
        places = (f"--mount={kept}/{namespace}", f"--root={kept}/{root}")
        entered = ("nsenter", *places, "sh", "-ec", script)
        said = subprocess.run(
            entered, cwd=TOP, env=campaign_bench.environment, capture_output=True, text=True, check=True
        ).stdout
    finally:
        os.close(namespace)
        os.close(root)
    assert "could not be finished" in said
    (entry,) = json.loads(said[said.index("\n[") :])
    assert entry["state"] == "done"
    assert not Path(found[0]).parent.exists()
    (saved,) = outside.glob("*/*.footing")
    assert not saved.is_symlink()


@needs_mounts
def test_measured_without_shared_memory_room(campaign_bench: CampaignBench) -> None:
    text = campaign_text(folder=campaign_bench.target, workload=SHORT)
    library = str(campaign_bench.library)
    script = (
        "mount -t tmpfs -o size=2m none /dev/shm\n"
        '[ ! -d /run/user ] || mount -t tmpfs none /run/user\n"$@"\nls -A /dev/shm >&2\n'
    )
    ended = run_shell(
        campaign_bench, script, "run", campaign_bench.write(text), "--output", library, own_mounts=True
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    listed = only_run(campaign_bench)
    assert listed["state"] == "done"
    with RunFile(Path(listed["path"])) as run:
        notes = [event.message for event in run.events() if event.kind == "note"]
    assert any(
        ("has no space for the run file. It is written beside the data, which costs some extra writes")
        in note
        for note in notes
    )
    assert any("No tmpfs was found for logs" in note for note in notes)


# --- a person stops


@pytest.mark.parametrize(
    ("phase", "number"),
    [
        pytest.param("prepare", signal.SIGTERM, marks=pytest.mark.longest),
        pytest.param("initdb", signal.SIGTERM, marks=pytest.mark.longest),
        ("initdb", signal.SIGINT),
        ("load", signal.SIGTERM),
        pytest.param("settle", signal.SIGTERM, marks=pytest.mark.longest),
        pytest.param("warm-up", signal.SIGTERM, marks=pytest.mark.longest),
        ("teardown", signal.SIGTERM),
    ],
)
def test_stop_in_any_phase(campaign_bench: CampaignBench, phase: str, number: signal.Signals) -> None:
    running = campaign_bench.start(campaign_text(memory=True, repeats=2, workload=WARMED))
    running.until_phase(phase)
    kill(running.process, number)
    assert running.end() == 130
    no_traceback(errors_of(campaign_bench))
    listed = only_run(campaign_bench)
    # Once everything was measured and kept, there is nothing to be stopped.
    assert listed["state"] == ("done" if phase == "teardown" else "stopped")
    with RunFile(Path(listed["path"])) as run:
        run.check()
        assert run.phase(Phase.TEARDOWN) is not None


def test_second_ctrl_c_keeps_cleaning_up(campaign_bench: CampaignBench) -> None:
    running = campaign_bench.start(campaign_text(folder=campaign_bench.target, workload=LONG))
    running.until_second(1)
    kill(running.process, signal.SIGINT)
    running.until_phase("teardown")
    kill(running.process, signal.SIGINT)
    kill(running.process, signal.SIGTERM)
    assert running.end() == 130
    assert only_run(campaign_bench)["state"] == "stopped"
    no_traceback(errors_of(campaign_bench))


def test_nohup_is_respected(campaign_bench: CampaignBench) -> None:
    text = campaign_text(memory=True, workload=SHORT)
    argv = ("nohup", sys.executable, "-m", "app", "run", campaign_bench.write(text))
    process = subprocess.Popen(
        (*argv, "--output", str(campaign_bench.library), "--progress", "json"),
        cwd=TOP,
        env=campaign_bench.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    campaign_bench.started.append(process)
    running = Running(process)
    running.until_phase("load")
    kill(process, signal.SIGHUP)
    assert running.end() == 0
    assert only_run(campaign_bench)["state"] == "done"


# --- nobody listens


def test_a_reader_that_leaves_costs_no_measurement(campaign_bench: CampaignBench) -> None:
    text = campaign_text(memory=True, workload=SHORT)
    script = '"$@" | head -n 1; exit "${PIPESTATUS[0]}"'
    arguments = ("run", campaign_bench.write(text), "--output", str(campaign_bench.library))
    ended = subprocess.run(
        ("bash", "-c", script, "bash", sys.executable, "-m", "app", *arguments),
        cwd=TOP,
        env=campaign_bench.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("\n") == 1
    assert ended.stderr == ""
    assert only_run(campaign_bench)["state"] == "done"


def locale_with_a_decimal_comma(folder: Path) -> dict[str, str]:
    """Return the environment of a German locale, made for this test where that is possible."""
    made = subprocess.run(
        ("localedef", "-i", "de_DE", "-f", "UTF-8", str(folder / "de_DE.UTF-8")),
        capture_output=True,
        check=False,
    )
    locale = {"LC_ALL": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}
    return {**locale, "LOCPATH": str(folder)} if made.returncode == 0 else locale


@pytest.mark.longest
def test_bare_environment_with_decimal_commas(campaign_bench: CampaignBench) -> None:
    text = campaign_text(memory=True, workload=SHORT)
    environment = {
        **locale_with_a_decimal_comma(campaign_bench.folder),
        "LANGUAGE": "en",  # numbers are looked at, beside words that are known here
        "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent",
    }
    library = str(campaign_bench.library)
    closed = 'unset HOME\nexec "$@" <&- >&- 2>&-'
    path = campaign_bench.write(text)
    ended = run_shell(campaign_bench, closed, "run", path, "--output", library, environment=environment)
    assert ended.returncode == 0
    shown = run_shell(
        campaign_bench, 'unset HOME\nexec "$@"', "run", path, "--output", library, environment=environment
    )
    assert shown.returncode == 0, shown.stderr
    table = shown.stdout[shown.stdout.index("\nConfiguration") :]
    assert re.search(r"\d,\d{3} ", table) or re.search(r" \d+ ", table)  # a comma only between thousands
    assert re.search(r"\d\.\d", table)
    listed = campaign_bench.listed()
    assert [run["state"] for run in listed] == ["done", "done"]
    csv_path = campaign_bench.folder / "out.csv"
    exported = run_shell(
        campaign_bench, 'exec "$@"', "export", listed[0]["path"], "-o", str(csv_path), environment=environment
    )
    assert exported.returncode == 0, exported.stderr
    rows = list(csv.DictReader(csv_path.read_text().splitlines()))
    assert rows
    assert all(
        None not in row and None not in row.values() for row in rows
    )  # as many fields as the header has
    for row in rows:
        float(row["value"])
        float(row["t_s"])
