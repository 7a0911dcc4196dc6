"""Campaign files that may run programs: nothing of them happens before somebody agreed, with real servers."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from app.campaign_file.reader import read_campaign_file
from app.campaign_file.trust import campaign_digest
from app.domain.errors import ExitStatus
from app.library.trusted_campaigns import trust
from app.postgres.installations.installation import Installation
from app.postgres.pgbench.argv import BenchmarkRequest, Connection, PgbenchProgram, benchmark_argv
from app.postgres.pgbench.script_demands import find_programs
from app.process.starter import run_command
from tests.fix_campaign import PATIENCE_S, TOP, CampaignBench, campaign_text
from tests.fix_postgres import Workbench
from tests.postgres.test_bench_role import one_transaction

pytestmark = pytest.mark.long

SHORT = 'scale = 1\nclients = 1\nwarmup = "0s"\ntransactions = 3'
REFUSED = ExitStatus.REFUSED


@pytest.fixture
def witness(campaign_bench: CampaignBench) -> Path:
    """What a command of a campaign makes where the server's account may write."""
    return campaign_bench.folder / "witness"


def with_command(bench: CampaignBench, witness: Path, *, repeats: int = 1) -> str:
    """A campaign whose server runs a program each second."""
    bench.folder.chmod(0o777)
    text = campaign_text(folder=bench.target, repeats=repeats)
    settings = f'archive_mode = "on"\narchive_command = "touch {witness}"\narchive_timeout = "1s"\n'
    return text.replace('shared_buffers = "32MB"\n', f'shared_buffers = "32MB"\n{settings}')


def with_script(bench: CampaignBench, script: str) -> str:
    """A campaign of one script."""
    bench.folder.chmod(0o777)
    (bench.folder / "own.sql").write_text(script)
    workload = SHORT.replace("scale", 'script = {file = "own.sql"}\nscale')
    return campaign_text(folder=bench.target, workload=workload)


def test_server_setting_program_needs_agreement(campaign_bench: CampaignBench, witness: Path) -> None:
    text = with_command(campaign_bench, witness)
    ended = campaign_bench.run(text, status=REFUSED)
    assert f"archive_command = 'touch {witness}'" in ended.stderr
    assert "--trust" in ended.stderr
    assert not witness.exists()
    assert not campaign_bench.library.exists()  # nothing was started
    ended = campaign_bench.run(text, "--trust", status=ExitStatus.DONE)
    assert witness.exists()
    assert f"archive_command = 'touch {witness}'" in ended.stderr  # also told where it was agreed to


def test_script_program_needs_agreement(campaign_bench: CampaignBench, witness: Path) -> None:
    text = with_script(
        campaign_bench, f"SELECT 1;\n\\if 1\n \\ \\\n SetShell v touch {witness}; echo 1\n\\endif\n"
    )
    ended = campaign_bench.run(text, status=REFUSED)
    assert f"touch {witness}" in ended.stderr
    assert not witness.exists()
    campaign_bench.run(text, "--trust", status=ExitStatus.DONE)
    assert witness.exists()


def test_agreed_script_gets_superuser(campaign_bench: CampaignBench, witness: Path) -> None:
    text = with_script(campaign_bench, f"CHECKPOINT;\nCOPY (SELECT 1) TO PROGRAM 'cat > {witness}';\n")
    ended = campaign_bench.run(text, status=REFUSED)
    assert (
        "pgbench would connect as a superuser, whose SQL can run programs as the server's user"
    ) in ended.stderr
    assert not witness.exists()
    campaign_bench.run(text, "--trust", status=ExitStatus.DONE)
    assert witness.exists()


def test_hidden_sql_refused_by_server(campaign_bench: CampaignBench, witness: Path) -> None:
    hidden = f"DO $do$ BEGIN EXECUTE 'CO' || 'PY (SELECT 1) TO PRO' || 'GRAM ''touch {witness}'''; END $do$;"
    ended = campaign_bench.run(with_script(campaign_bench, hidden), status=ExitStatus.FAILED)
    words = " ".join((ended.stdout + ended.stderr).split())
    assert "pg_execute_server_program" in words
    assert "pgbench's role is not a superuser and owns only its own objects" in words
    assert not witness.exists()


def test_named_folder_programs_not_run_before(campaign_bench: CampaignBench, witness: Path) -> None:
    folder = campaign_bench.folder / "bin"
    folder.mkdir()
    campaign_bench.folder.chmod(0o777)
    for program in ("postgres", "initdb", "pgbench", "pg_config"):
        (folder / program).write_text(f"#!/bin/sh\ntouch {witness}\n")
        (folder / program).chmod(0o755)
    text = campaign_text(folder=campaign_bench.target).replace(
        "[postgresql]", f'[postgresql]\ninstallation = "{folder}"', 1
    )
    ended = campaign_bench.run(text, status=REFUSED)
    assert str(folder) in ended.stderr
    assert not witness.exists()
    campaign_bench.run(text, "--trust")
    assert witness.exists()


@pytest.mark.longest
def test_resuming_asks_like_starting(campaign_bench: CampaignBench, witness: Path) -> None:
    text = with_command(campaign_bench, witness, repeats=2)
    running = campaign_bench.start(text, "--trust")
    running.until(lambda event: event["event"] == "finished")
    running.process.terminate()
    assert running.end() == ExitStatus.CANCELLED
    witness.unlink()
    campaign_bench.run(text, "--resume", status=REFUSED)
    assert not witness.exists()
    campaign_bench.run(text, "--resume", "--trust", status=ExitStatus.DONE)


def test_agreement_holds_until_files_change(
    campaign_bench: CampaignBench, witness: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", campaign_bench.environment["XDG_DATA_HOME"])
    script = f"\\shell touch {witness}\nSELECT 1;\n"
    text = with_script(campaign_bench, script)
    file = read_campaign_file(campaign_bench.write(text))
    trust(campaign_digest(file.text, file.campaign))
    campaign_bench.run(text, status=ExitStatus.DONE)
    assert witness.exists()
    witness.unlink()
    assert campaign_bench.run(text + "# \n").returncode == REFUSED
    (campaign_bench.folder / "own.sql").write_text(script.replace("SELECT", "select"))
    assert campaign_bench.run(text).returncode == REFUSED
    assert not witness.exists()


@pytest.mark.parametrize(("typed", "status"), [("no", REFUSED), ("", REFUSED), ("yes", ExitStatus.DONE)])
def test_on_a_terminal_a_person_is_asked(
    campaign_bench: CampaignBench, witness: Path, typed: str, status: int
) -> None:
    text = with_script(campaign_bench, f"\\shell touch {witness}\nSELECT 1;\n")
    argv = [sys.executable, "-m", "app", "run", campaign_bench.write(text), "--output"]
    person, terminal = pty.openpty()
    try:
        process = subprocess.Popen(
            [*argv, str(campaign_bench.library), "--progress", "none"],
            cwd=TOP,
            env=campaign_bench.environment,
            stdin=terminal,
            stdout=subprocess.DEVNULL,
            stderr=terminal,
            start_new_session=True,
        )
        os.close(terminal)
        shown = b""
        while b"Type yes" not in shown:
            shown += os.read(person, 4096)
        assert f"touch {witness}".encode() in shown
        assert not witness.exists()
        os.write(person, typed.encode() + b"\n")
        while True:
            try:
                if not os.read(person, 4096):
                    break
            except OSError:  # the terminal was closed by its last user
                break
        assert process.wait(PATIENCE_S) == status
    finally:
        os.close(person)
    assert witness.exists() is (status == ExitStatus.DONE)


SPELLINGS = (
    "\\shell {do}",
    "   \\shell {do}",
    "\\SHELL {do}",
    "\\ shell {do}",
    "\\\tshell {do}",
    "\\ \\\n shell {do}",
    "\\ \\\r\n shell {do}",
    "\\shell\\\n {do}",
    "\\shell \\\n {do}",
    "\\setshell v {do}; echo 1",
    "\\setSHELL v {do}; echo 1",
    "\\if 1\n\\if 1\n  \\shell {do}\n\\endif\n\\endif",
    "SELECT 1 \\shell {do}",
    "SELECT 1 \\shell {do}\n;",
    "SELECT 1; \\shell {do}",
    "SELECT $$'$$; \\shell {do}",
    "-- '\n\\shell {do}",
    "/* ' */ \\shell {do}",
    "SELECT 'x\n--' \\shell {do}",
    "\\\\shell {do}",
    "\\;\\shell {do}",
    "\\\x0bshell {do}",
    "\\\x0cshell {do}",
    "\\\xa0shell {do}",
    "\\\nshell {do}",
    "\\set x 1 \\shell {do}",
    "\\shell{do}",
    "\\sh\\\nell {do}",
    "\\! {do}",
    "\\set v `{do}`",
    "SELECT 1 AS a \\gset `{do}`",
    "SELECT 1 \\g |{do}",
    "\\o |{do}",
    "\\copy (SELECT 1) TO PROGRAM '{do}'",
    "\\i |{do}",
    "\\setenv v `{do}`",
)


def test_every_spelling_of_program_found(
    workbench: Workbench, every_installation: tuple[Installation, ...]
) -> None:
    server = workbench.server()
    server.start()
    server.make_bench()
    witness = workbench.folder / "one" / "private" / "witness"
    path = workbench.folder / "spelling.sql"
    executed: set[str] = set()
    for installation in every_installation:
        program = PgbenchProgram(installation.program("pgbench"), installation.major)
        for spelling in SPELLINGS:
            text = spelling.format(do=f"touch {witness}") + "\nSELECT 1;\n"
            path.write_text(text, newline="")
            path.chmod(0o644)
            request = BenchmarkRequest(seed=1, scale=1, threads=1, script_paths=(str(path),))
            argv = benchmark_argv(
                program, Connection(server.socket_directory), one_transaction(text), request
            )
            run_command(argv, account=server.account, timeout_s=60, record=lambda _: None)
            if witness.exists():
                executed.add(spelling)
                assert find_programs(text), f"{installation.version}: {spelling!r}"
                witness.unlink()
    assert len(executed) >= 12  # else this would prove nothing
