"""What a real polkit says, and that nobody waits while it is asked."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.bus.client import Client
from tests.bus.service_stand_in import NAME, PATH
from tests.disks.terminal_agent import PASSWORD, TerminalAgent, set_password
from tests.fix_bus import Serving, next_line

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start polkit"),
]

ACTIONS = Path("/usr/share/polkit-1/actions")
RULES = Path("/etc/polkit-1/rules.d/00-stand-in.rules")
POLICY = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE policyconfig PUBLIC "-//freedesktop//DTD PolicyKit Policy Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/PolicyKit/1/policyconfig.dtd">
<policyconfig><action id="org.pgfooting.stand-in"><description>d</description>
<message>Erase $(disks)</message>
<defaults><allow_any>auth_admin</allow_any><allow_inactive>auth_admin</allow_inactive>
<allow_active>auth_admin</allow_active></defaults></action></policyconfig>
"""
RULE = """polkit.addRule(function(action, subject) {{
  if (action.id == "org.pgfooting.stand-in" && subject.user == "nobody") return polkit.Result.{result};
}});
"""
BUS_POLICY = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><policy user="root"><allow own="org.pgfooting.StandIn1"/></policy>
<policy context="default"><allow send_destination="org.pgfooting.StandIn1"/></policy></busconfig>
"""
ASK = """
import sys
from tests.bus.client import Client
from tests.bus.service_stand_in import NAME, PATH
with Client(NAME, PATH, NAME) as caller:
    print("ready", flush=True)
    input()
    question = ("Ask", "(sd)", sys.argv[1], float(sys.argv[2]))
    print(*caller.call(*question, interactive=sys.argv[3] == "interactive"), flush=True)
"""
PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def policy(system_daemons: None) -> Iterator[None]:
    """The action in polkit's folder, and our name allowed on the bus."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(ACTIONS)], check=True)
    (ACTIONS / "org.pgfooting.stand-in.policy").write_text(POLICY)
    bus_policy = Path("/etc/dbus-1/system.d/org.pgfooting.StandIn1.conf")
    bus_policy.write_text(BUS_POLICY)
    reload_bus()
    restart_polkit()
    yield
    subprocess.run(["umount", str(ACTIONS)], check=True)
    bus_policy.unlink()
    reload_bus()
    restart_polkit()


def reload_bus() -> None:
    bus = "org.freedesktop.DBus"
    subprocess.run(["busctl", "--system", "call", bus, "/", bus, "ReloadConfig"], check=True)


def restart_polkit() -> None:
    """It notices changed files by itself, but not in a time that it promises."""
    owner = subprocess.run(
        ["busctl", "--system", "status", "org.freedesktop.PolicyKit1"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    pids = [line.partition("=")[2] for line in owner.splitlines() if line.startswith("PID=")]
    for pid in pids:
        os.kill(int(pid), 15)
        wait_until(lambda pid=pid: not Path(f"/proc/{pid}/exe").exists())  # type: ignore[misc]
    bus = "org.freedesktop.DBus"
    start = ["busctl", "--system", "--timeout=60", "call", bus, "/", bus, "StartServiceByName", "su"]
    subprocess.run([*start, "org.freedesktop.PolicyKit1", "0"], check=True, capture_output=True)


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def rule() -> Iterator[Callable[[str], None]]:
    """A function that writes a rule of the administrator."""

    def write(result: str) -> None:
        RULES.write_text(RULE.format(result=result))
        restart_polkit()

    yield write
    if RULES.exists():
        RULES.unlink()
        restart_polkit()


@pytest.fixture
def service(policy: None, serve: Callable[..., Serving]) -> Serving:
    process = serve("tests.bus.service_stand_in")
    assert next_line(process) == "ready"
    return process


def ask(
    user: str, *, interactive: bool, action: str = "org.pgfooting.stand-in", timeout_s: float = 60
) -> Serving:
    """Ask the service, as somebody, to ask polkit."""
    how = "interactive" if interactive else "silent"
    return subprocess.Popen(
        [
            "setpriv",
            f"--reuid={user}",
            "--clear-groups",
            sys.executable,
            "-c",
            ASK,
            action,
            str(timeout_s),
            how,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
    )


def begin(process: Serving) -> None:
    """Let it ask, now that whatever has to be there is there."""
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def answer_of(process: Serving, *, begun: bool = False) -> str:
    out, _ = process.communicate(None if begun else "go\n", timeout=120)
    assert process.returncode == 0
    return out.splitlines()[-1]


def test_root_is_authorised(service: Serving) -> None:
    assert answer_of(ask("root", interactive=False)) == "authorized"


@pytest.mark.parametrize(("result", "verdict"), [("YES", "authorized"), ("NO", "denied")])
@pytest.mark.parametrize("how", ["interactive", "silent"])
def test_a_rule_decides_without_a_person(
    service: Serving, rule: Callable[[str], None], result: str, verdict: str, how: str
) -> None:
    rule(result)
    assert answer_of(ask("nobody", interactive=how == "interactive")) == verdict


@pytest.mark.parametrize("how", ["interactive", "silent"])
def test_no_agent_gives_challenge(service: Serving, how: str) -> None:
    assert answer_of(ask("nobody", interactive=how == "interactive")) == "challenge"


def test_unknown_action_not_authorised(service: Serving) -> None:
    assert answer_of(ask("nobody", interactive=True, action="org.pgfooting.unknown")) == "unavailable"


Dialog = tuple[Serving, TerminalAgent]


@pytest.fixture
def dialog(service: Serving) -> Iterator[Callable[..., Dialog]]:
    """A function that opens a dialog for a caller without rights, and waits until it is on the terminal."""
    set_password()
    opened: list[Dialog] = []

    def open_dialog(timeout_s: float = 60) -> Dialog:
        process = ask("nobody", interactive=True, timeout_s=timeout_s)
        assert next_line(process) == "ready"
        agent = TerminalAgent(process.pid)
        opened.append((process, agent))
        begin(process)
        agent.wait_for_prompt()
        return process, agent

    yield open_dialog
    for process, agent in opened:
        agent.close()
        process.kill()
        process.communicate()


def test_dialog_message_and_right_password(
    dialog: Callable[..., Dialog],
) -> None:
    process, agent = dialog()
    assert "Erase A B" in agent.shown
    agent.type(PASSWORD)
    assert answer_of(process, begun=True) == "authorized"


def test_authorisation_not_kept(dialog: Callable[..., Dialog]) -> None:
    process, agent = dialog()
    agent.type(PASSWORD)
    assert answer_of(process, begun=True) == "authorized"
    assert answer_of(ask("nobody", interactive=False)) == "challenge"


def test_wrong_password_differs_from_denial(dialog: Callable[..., Dialog]) -> None:
    process, agent = dialog()
    agent.type("wrong")
    assert answer_of(process, begun=True) == "failed"


def test_an_agent_that_vanishes_is_no_yes(dialog: Callable[..., Dialog]) -> None:
    process, agent = dialog()
    agent.close()
    assert answer_of(process, begun=True) in {"dismissed", "failed"}
    agent.terminal, theirs = pty.openpty()
    os.close(theirs)


def test_callers_served_during_dialog(dialog: Callable[..., Dialog]) -> None:
    process, agent = dialog()
    with Client(NAME, PATH, NAME) as other:
        assert other.call("Echo", "(s)", "a") == ("a", 1)
        assert process.poll() is None
    agent.type(PASSWORD)
    assert answer_of(process, begun=True) == "authorized"


def test_password_after_cancel_gives_nothing(dialog: Callable[..., Dialog]) -> None:
    process, agent = dialog()
    with Client(NAME, PATH, NAME) as other:
        other.call("CancelQuestion")
    assert answer_of(process, begun=True) == "cancelled"
    agent.type(PASSWORD)  # the terminal agent waits for it and cannot be interrupted
    assert answer_of(ask("nobody", interactive=False)) == "challenge"


def test_password_after_timeout_gives_nothing(dialog: Callable[..., Dialog]) -> None:
    process, agent = dialog(timeout_s=3)
    assert answer_of(process, begun=True) == "timed-out"
    agent.type(PASSWORD)  # the terminal agent waits for it and cannot be interrupted
    assert answer_of(ask("nobody", interactive=False)) == "challenge"
