"""The program and what speaks to it, with shells of this machine and hostile far sides in place of ssh."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.domain.errors import ProgramError
from app.probes.base.probe import ProbeContext, ProbeUnavailable, RemoteMachine, ServerSources, SshDestination
from app.probes.remote import connection as connection_module
from app.probes.remote.connection import PROGRAM, Launch, LineKind, RemoteConnection
from app.probes.remote.facts import remote_fact_tree
from app.probes.remote.machine import FactReading, RemoteMachineProbe, ask_facts
from app.probes.sampling.registry import make_probes
from app.probes.sampling.sampler import ProbeSlot, SourceState
from app.process.account import current_account
from app.process.starter import spawn
from app.runfile.metadata.environment import RemoteAccess, read_environment_facts

PATIENCE_S = 60
HERE = SshDestination("here")
SHELLS = [
    shell
    if shutil.which(shell[0])
    else pytest.param(shell, marks=pytest.mark.skip(reason=f"no {shell[0]} here"))
    for shell in (("dash",), ("busybox", "sh"), ("bash", "--posix"))
]


def started(*argv: str, path: str = "") -> Launch:
    """Return what starts a program of this machine in place of ssh."""

    def launch(_destination: SshDestination) -> subprocess.Popen[bytes]:
        return spawn(
            (shutil.which(argv[0]) or argv[0], *argv[1:]),
            account=current_account(),
            death_signal=signal.SIGKILL,
            env={"PATH": f"{path}:{os.environ['PATH']}"} if path else None,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    return launch


def hostile(text: str) -> Launch:
    """Return a far side that runs a shell program of its own and knows nothing of ours."""
    return started("sh", "-c", text)


AS_OURS = 'read -r token; token=${token#token=}; printf "pgfooting %s H\\t1\\tLinux\\n" "$token"; '
"""A far side that begins like ours."""

ASKED = AS_OURS + 'while read -r line && [ "$line" != main ]; do :; done; '
"""The same that goes on when it has the whole program."""


def wait_until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end_s, "it did not happen"
        time.sleep(0.05)


# --- the program


def test_the_program_is_portable_shell() -> None:
    subprocess.run(["dash", "-n", str(PROGRAM)], check=True)
    checked = subprocess.run(
        ["shellcheck", "-s", "sh", str(PROGRAM)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout


def test_program_writes_and_evaluates_nothing() -> None:
    lines = [line for line in PROGRAM.read_text().splitlines() if not line.lstrip().startswith("#")]
    text = "\n".join(lines)
    for sink in ("/dev/null", "&1"):
        text = text.replace(f">{sink}", "")
    assert ">" not in text.replace("-gt", "")
    assert "eval" not in text
    assert "$(<" not in text


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
def test_linux_facts_and_samples_per_shell(shell: tuple[str, ...], tmp_path: Path) -> None:
    asked = RemoteConnection(HERE, started(*shell))
    asked.open()
    try:
        assert asked.system == os.uname().sysname
        folder = tmp_path / "with blank \\ and ünicode"
        answer = asked.ask("facts", LineKind.END, f"{folder}/16/main")
        named = {line.fields[0]: line.fields[1] for line in answer if line.kind is LineKind.FACT}
        assert named["kernel.release"] == os.uname().release
        assert named["place.found"] == str(tmp_path)
        # Not os.path.ismount, which knows no mount of a folder of the same filesystem.
        assert f" {named['mount.point']} " in Path("/proc/self/mountinfo").read_text()
        for number in ("1", "2"):
            second = asked.ask("tick", LineKind.SAMPLE, number)
            fields = dict(field.split("=", 1) for field in second[-1].fields[1:])
            assert float(fields["uptime"]) > 0
            assert len(fields["cpu"].split()) >= 8
            assert "MemAvailable:" in fields["memory"]
    finally:
        asked.close()


def test_closed_input_ends_all_processes() -> None:
    asked = RemoteConnection(HERE, started("sh"))
    asked.open()
    process = asked._process
    assert process is not None
    group = process.pid

    def members() -> list[int]:
        found = []
        for path in Path("/proc").iterdir():
            try:
                words = (path / "stat").read_text().rpartition(")")[2].split() if path.name.isdigit() else []
            except OSError:
                continue
            if words and int(words[3]) == group and words[0] != "Z":
                found.append(int(path.name))
        return found

    wait_until(lambda: len(members()) >= 3)  # the shell, what guards it, and what that waits with
    assert process.stdin is not None
    process.stdin.close()
    process.wait(PATIENCE_S)
    wait_until(lambda: not members())
    asked.close()


def test_counters_of_other_systems_omitted(tmp_path: Path) -> None:
    (tmp_path / "uname").write_text("#!/bin/sh\necho FreeBSD\n")
    (tmp_path / "uname").chmod(0o755)
    launch = started("sh", path=str(tmp_path))
    probe = RemoteMachineProbe(lambda machine: RemoteConnection(machine.destination, launch))
    probe.open(ProbeContext(ServerSources(elsewhere=RemoteMachine(HERE, "/"))))
    assert probe.read() == []
    assert {each.metric for each in probe.omissions} >= {"cpu.*", "storage.*"}
    assert all("FreeBSD" in each.reason for each in probe.omissions)
    probe.close()


@pytest.mark.parametrize(
    ("system", "kind", "program", "sample", "expected"),
    [
        ("DragonFly", "hammer2", "hammer2", "dragonfly-hammer2-stat.txt", "compression"),
        ("DragonFly", "hammer", "hammer", "dragonfly-hammer-info.txt", "format_version"),
        ("FreeBSD", "ufs", "dumpfs", "freebsd-dumpfs-m.txt", "made_with"),
        ("OpenBSD", "ffs", "dumpfs", "freebsd-dumpfs-m.txt", "made_with"),
    ],
)
def test_filesystem_facts_of_other_systems(
    system: str, kind: str, program: str, sample: str, expected: str, tmp_path: Path
) -> None:
    """As far as stand-ins for their programs make such a system."""
    data = Path(__file__).parents[3] / "data/probes/remote"
    for name, text in {
        "uname": f"case $1 in -s) echo {system} ;; *) echo made-up ;; esac",
        "mount": f"echo '/dev/da1s1a on / ({kind}, local, noatime)'",
        "df": "echo Filesystem; echo '/dev/da1s1a 100 10 90 10% /'",
        program: f"case $1 in stat | info | -m) cat {data}/{sample} ;; esac",
        "zfs": "exit 1",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    asked = RemoteConnection(HERE, started("sh", path=str(tmp_path)))
    asked.open()
    found = read_environment_facts(remote_fact_tree(ask_facts(asked, RemoteMachine(HERE, "/"))))
    asked.close()
    assert found.filesystem == kind
    assert found.mount_options == ("local", "noatime")
    assert found.reported[expected]
    assert found.reached.words == f"ssh, {system}, not tried on a real system"


# --- a far side that is not as it should be


def refusal(launch: Launch, monkeypatch: pytest.MonkeyPatch, timeout_s: float = PATIENCE_S) -> str:
    monkeypatch.setattr(connection_module, "_HELLO_TIMEOUT_S", timeout_s)
    asked = RemoteConnection(HERE, launch)
    with pytest.raises(ProbeUnavailable) as caught:
        asked.open()
    asked.close()
    assert caught.value.reason.isprintable()
    return caught.value.reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("exec yes Welcome", "more data than any valid answer"),
        ("exec cat /dev/zero", "more data than any valid answer"),
        ("exec cat /dev/urandom", "more data than any valid answer"),
        ("yes >&2; :", "more data than any valid answer"),
        ("printf '\\033[2J\\033]0;x\\007 no shell\\n' >&2; exit 1", "no shell"),
        ("exit 7", "exit status 7"),
        ('read -r t; printf "pgfooting %s H\\t99\\tLinux\\n" "${t#token=}"; sleep 60', "format 99"),
        (
            "echo 'Permission denied (publickey).' >&2; exit 255",
            "accepts none of the keys that ssh can use without a prompt",
        ),
    ],
)
def test_foreign_far_side_refused(text: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert words in refusal(hostile(text), monkeypatch)


def test_silent_far_side_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no shell answers" in refusal(hostile("exec sleep 600"), monkeypatch, timeout_s=0.2)


def test_login_shell_output_skipped() -> None:
    asked = RemoteConnection(
        HERE, started("sh", "-c", "printf 'motd\\033[2J\\n\\n\\001\\002'; echo; exec sh")
    )
    asked.open()
    assert asked.system
    asked.close()


def test_ssh_not_installed() -> None:
    def launch(_destination: SshDestination) -> subprocess.Popen[bytes]:
        raise ProgramError("ssh could not be started: no such file.")

    with pytest.raises(ProbeUnavailable, match="ssh could not be started"):
        RemoteConnection(HERE, launch).open()


def test_stale_answers_discarded() -> None:
    sample = 'printf "pgfooting %s S\\t%s\\tuptime=%s\\n" "$token"'
    answers = f'while read -r request; do {sample} 9 9; {sample} 0 0; {sample} "${{request#tick }}" 5; done'
    asked = RemoteConnection(HERE, hostile(ASKED + answers))
    asked.open()
    for number in ("1", "2", "3"):
        assert asked.ask("tick", LineKind.SAMPLE, number)[-1].fields == (number, "uptime=5")
    asked.close()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('exec yes "pgfooting $token F\ta\tb"', "more data than any valid answer"),
        ("exec cat /dev/zero", "more data than any valid answer"),
        ("exit 0", "ended"),
        ("kill -9 $$", "ended"),
    ],
)
def test_endless_answer_given_up(text: str, words: str) -> None:
    asked = RemoteConnection(HERE, hostile(AS_OURS + text))
    asked.open()
    with pytest.raises(ProbeUnavailable, match=words):
        asked.ask("facts", LineKind.END, "/")
    asked.close()


def test_no_answer_within_the_time_is_told() -> None:
    asked = RemoteConnection(HERE, hostile(AS_OURS + "exec sleep 600"))
    asked.open()
    with pytest.raises(ProbeUnavailable, match="stopped answering"):
        asked.ask("facts", LineKind.END, "/", 0.2)
    asked.close()


def test_line_break_cannot_inject_request() -> None:
    asked = RemoteConnection(HERE, started("sh"))
    asked.open()
    with pytest.raises(ValueError, match="break"):
        asked.ask("facts", LineKind.END, "/line\nbreak")
    asked.close()


def test_interrupt_ends_waiting() -> None:
    asked = RemoteConnection(HERE, hostile(AS_OURS + "exec sleep 600"))
    asked.open()
    failed = threading.Event()

    def wait() -> None:
        with pytest.raises(ProbeUnavailable):
            asked.ask("facts", LineKind.END, "/", 600)
        failed.set()

    thread = threading.Thread(target=wait)
    thread.start()
    asked.interrupt()
    assert failed.wait(PATIENCE_S)
    thread.join()
    asked.close()
    with pytest.raises(ProbeUnavailable):
        RemoteMachineProbe().open(ProbeContext(ServerSources()))


# --- a line that is cut


def test_cut_line_makes_gap_and_reconnects() -> None:
    connections: list[RemoteConnection] = []
    is_down = threading.Event()

    def connect(machine: RemoteMachine) -> RemoteConnection:
        launch = hostile("echo 'ssh: connect to host here: Connection refused' >&2; exit 255")
        connections.append(
            RemoteConnection(machine.destination, launch if is_down.is_set() else started("sh"))
        )
        return connections[-1]

    slot = ProbeSlot(
        RemoteMachineProbe(connect), ProbeContext(ServerSources(elsewhere=RemoteMachine(HERE, "/")))
    )
    slot.open()
    assert {sample.metric for sample in slot.read()} >= {"memory.available"}
    slot.read()
    process = connections[-1]._process
    assert process is not None
    process.kill()
    is_down.set()
    assert slot.read() == []
    for _ in range(10):
        assert slot.read() == []
    is_down.clear()
    for _ in range(70):
        if slot.read():
            break
    changes = slot.take_changes()
    assert [change.state for change in changes] == [
        SourceState.UNAVAILABLE,
        SourceState.UNAVAILABLE,
        SourceState.AVAILABLE,
    ]
    assert "here" in changes[0].reason
    assert "Connection refused" in changes[1].reason
    slot.close()


@pytest.mark.parametrize("phase", ["open", "facts"])
def test_cut_line_in_any_phase(phase: str) -> None:
    if phase == "open":
        text = "exit 255"
    else:
        text = f"{AS_OURS} while read -r request; do case $request in facts*) exit 255 ;; esac; done"
    launched: list[RemoteConnection] = []

    def connect(machine: RemoteMachine) -> RemoteConnection:
        launched.append(RemoteConnection(machine.destination, hostile(text)))
        return launched[-1]

    slot = ProbeSlot(
        RemoteMachineProbe(connect), ProbeContext(ServerSources(elsewhere=RemoteMachine(HERE, "/")))
    )
    slot.open()
    (change,) = slot.take_changes()
    assert change.state is SourceState.UNAVAILABLE
    assert launched[-1]._process is None


def test_facts_known_to_run_file() -> None:
    def connect(machine: RemoteMachine) -> RemoteConnection:
        return RemoteConnection(machine.destination, started("sh"))

    sources = ServerSources(elsewhere=RemoteMachine(HERE, "/"))
    reading = FactReading(sources, connect)
    reading.read()
    facts = read_environment_facts(reading.facts)
    assert facts.kernel == os.uname().release
    assert facts.online_cpus == os.sysconf("SC_NPROCESSORS_ONLN")
    assert facts.memory_bytes
    assert facts.filesystem
    assert facts.reached.words == "ssh, Linux"
    reading.read_changing()
    assert "storage" not in reading.facts
    assert read_environment_facts(reading.facts).memory_bytes == facts.memory_bytes


def test_unreachable_machine_never_taken_for_local() -> None:
    refused = hostile("echo 'Permission denied (publickey).' >&2; exit 255")
    sources = ServerSources(elsewhere=RemoteMachine(HERE, "/"))
    reading = FactReading(sources, lambda machine: RemoteConnection(machine.destination, refused))
    reading.read()
    facts = read_environment_facts(reading.facts)
    assert facts.reached.words.startswith("ssh, failed: here accepts none of the keys")
    assert facts.online_cpus is None
    assert facts.kernel == ""


def test_cancel_while_opening() -> None:
    launch = hostile(AS_OURS + "exec sleep 600")

    def launch_and_call_off(destination: SshDestination) -> subprocess.Popen[bytes]:
        process = launch(destination)
        asked.interrupt()  # there is nothing to end yet, as far as it knows
        return process

    asked = RemoteConnection(HERE, launch_and_call_off)
    with pytest.raises(ProbeUnavailable, match="Cancelled"):
        asked.open()


def test_waiting_for_facts_is_cancellable() -> None:
    silent = hostile(AS_OURS + "exec sleep 600")
    sources = ServerSources(elsewhere=RemoteMachine(HERE, "/"))
    reading = FactReading(sources, lambda machine: RemoteConnection(machine.destination, silent))
    thread = threading.Thread(target=reading.read)
    thread.start()
    reading.interrupt()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert "reached" in reading.facts


def test_server_machine_replaces_local_pgbench_stays() -> None:
    local = {probe.id for probe in make_probes(ServerSources())}
    remote = {probe.id for probe in make_probes(ServerSources(elsewhere=RemoteMachine(HERE)))}
    assert "remote-machine" not in local
    assert remote == {"remote-machine", "processes", "run-queue", "postgres-statistics", "wait-events"}
    assert remote - {"remote-machine"} <= local


@pytest.mark.parametrize(
    ("reached", "words"),
    [
        (RemoteAccess(), ""),
        (RemoteAccess("ssh", "Linux"), "ssh, Linux"),
        (RemoteAccess("ssh", "FreeBSD", is_tried=False), "not tried on a real system"),
    ],
)
def test_how_machine_was_reached(reached: RemoteAccess, words: str) -> None:
    assert words in reached.words
    assert bool(words) == bool(reached.words)
