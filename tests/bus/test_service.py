"""A service on a real bus: what callers get, and what they must not get."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from app.dbus.service import load_gio
from tests.bus.client import Client, RemoteError
from tests.bus.service_stand_in import NAME, PATH
from tests.fix_bus import Serving, next_line

pytestmark = pytest.mark.bus


@pytest.fixture
def service(bus: Serving, serve: Callable[..., Serving]) -> Serving:
    process = serve("tests.bus.service_stand_in")
    assert next_line(process) == "ready"
    return process


def client() -> Client:
    return Client(NAME, PATH, NAME)


def test_call_answered_with_interface_types(service: Serving) -> None:
    with client() as caller:
        assert caller.call("Echo", "(s)", "xfs \N{SNOWMAN}") == ("xfs \N{SNOWMAN}", 5)


def test_clients_that_left_keep_no_descriptor(service: Serving) -> None:
    """Each kept an eventfd of GLib's: after a thousand, in a long session of tests, select() failed."""

    def events() -> int:
        found = 0
        for place in Path("/proc/self/fd").iterdir():
            with suppress(FileNotFoundError):  # closed by a thread of GLib meanwhile
                found += "eventfd" in str(place.readlink())
        return found

    before = events()
    for _ in range(40):
        with client() as caller:
            caller.call("Echo", "(s)", "a")
    assert events() - before < 20


def test_other_callers_are_served_while_one_waits(service: Serving) -> None:
    with client() as patient, client() as other:
        wait = patient.begin("Later", "(d)", 30.0)
        assert other.call("Echo", "(s)", "a") == ("a", 1)
        assert callable(wait)  # its answer is not waited for


def test_exception_logged_and_hidden_from_caller(service: Serving) -> None:
    with client() as caller, pytest.raises(RemoteError) as refused:
        caller.call("Break")
    assert (refused.value.name, refused.value.text) == (f"{NAME}.Error.Failed", "Failed")
    service.terminate()
    assert service.stderr is not None
    log = service.stderr.read()
    assert "Break failed" in log
    assert "/root/secret" in log


def test_late_exception_keeps_service_running(service: Serving) -> None:
    with client() as caller:
        caller.call("BreakLater")
        assert caller.call("Echo", "(s)", "still here") == ("still here", 10)


def test_refusal_has_name_and_public_values(service: Serving) -> None:
    with client() as caller, pytest.raises(RemoteError) as refused:
        caller.call("Refuse")
    assert (refused.value.name, refused.value.text) == (f"{NAME}.Error.DiskRefused", "D05")


def test_a_second_answer_is_ignored(service: Serving) -> None:
    with client() as caller:
        assert caller.call("Twice") == ()
        assert caller.call("Echo", "(s)", "a") == ("a", 1)


@pytest.mark.parametrize(
    ("method", "signature", "values"),
    [
        ("Echo", "(u)", (1,)),
        ("Echo", "()", ()),
        ("Echo", "(ss)", ("a", "b")),
        ("Missing", "()", ()),
        ("Later", "(s)", ("1",)),
    ],
)
def test_invalid_calls_refused_before_service(
    service: Serving, method: str, signature: str, values: tuple[object, ...]
) -> None:
    with client() as caller, pytest.raises(RemoteError) as refused:
        caller.call(method, signature, *values)
    assert refused.value.name in {
        "org.freedesktop.DBus.Error.InvalidArgs",
        "org.freedesktop.DBus.Error.UnknownMethod",
    }


def test_the_caller_is_who_the_bus_says(service: Serving) -> None:
    with client() as caller:
        assert caller.call("WhoAmI") == (caller.unique_name, os.getuid())


def test_departed_caller_noticed(service: Serving) -> None:
    with client() as stays:
        with client() as leaves, client() as too:
            left = leaves.unique_name
            leaves.call("WatchMe")
            stays.call("WatchMe")
            assert too.unique_name != left
        assert next_line(service) == f"gone {left}"
        assert stays.call("Echo", "(s)", "a") == ("a", 1)


def test_signal_reaches_only_receiver(service: Serving) -> None:
    with client() as receiver, client() as curious:
        mine, others = receiver.signals(), curious.signals()
        receiver.call("Tell")
        receiver.call("Echo", "(s)", "the signal came before")
        curious.call("Echo", "(s)", "and this is after it")
        assert mine == [("Told", ("only you",))]
        assert others == []


def test_the_name_cannot_be_taken_over(service: Serving, serve: Callable[..., Serving]) -> None:
    second = serve("tests.bus.service_stand_in")
    assert next_line(second) == f"error the name {NAME} is taken"
    gio, glib = load_gio()
    with client() as thief:
        asked = glib.Variant("(su)", (NAME, 2))  # REPLACE_EXISTING
        bus = "org.freedesktop.DBus"
        (owned,) = thief.connection.call_sync(
            bus, "/org/freedesktop/DBus", bus, "RequestName", asked, None, gio.DBusCallFlags.NONE, 5000, None
        ).unpack()
        assert owned == 2  # queued behind the owner
        (owner,) = thief.connection.call_sync(
            bus, "/org/freedesktop/DBus", bus, "GetNameOwner", glib.Variant("(s)", (NAME,)), None,
            gio.DBusCallFlags.NONE, 5000, None,
        ).unpack()  # fmt: skip
        assert owner != thief.unique_name


def test_nothing_can_be_set_from_outside(service: Serving) -> None:
    with Client(NAME, PATH, "org.freedesktop.DBus.Properties") as caller:
        _, glib = load_gio()
        with pytest.raises(RemoteError):
            caller.call("Set", "(ssv)", NAME, "name", glib.Variant("s", "x"))
    with client() as caller:
        assert caller.call("Echo", "(s)", "a") == ("a", 1)


def test_it_stops_when_told(service: Serving) -> None:
    with client() as caller:
        caller.call("Stop")
    assert next_line(service) == "stopped"
    assert service.wait(60) == 0


def test_lost_bus_ends_service_with_reason(bus: subprocess.Popen[str], service: Serving) -> None:
    bus.terminate()
    assert next_line(service) == "error the bus has gone away"
    assert service.wait(60) == 1


def test_without_a_bus_it_says_so(monkeypatch: pytest.MonkeyPatch, serve: Callable[..., Serving]) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus")
    process = serve("tests.bus.service_stand_in")
    assert next_line(process).startswith("error ")
    assert process.wait(60) == 1


def test_without_polkit_nobody_is_authorised(service: Serving) -> None:
    with client() as caller:
        assert caller.call("Ask", "(sd)", "org.pgfooting.helper.erase", 5.0, interactive=True) == (
            "unavailable",
        )


def resident_bytes(process: Serving) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def test_answered_calls_leave_memory(service: Serving) -> None:
    with Client(NAME, PATH, NAME) as caller:
        grown = []
        for _ in range(2):
            before = resident_bytes(service)
            for _ in range(30):
                for wait in [caller.begin("Echo", "(s)", "x" * 20_000) for _ in range(50)]:
                    wait()
            grown.append(resident_bytes(service) - before)
    assert grown[1] < 5_000_000, "1,500 calls of 20 kB stay"


def test_oversized_call_refused_unread(service: Serving) -> None:
    with client() as caller:
        before = resident_bytes(service)
        waiting = [caller.begin("Echo", "(s)", "x" * size) for size in (20_000_000, 128 * 1024, 100_000)]
        for wait in waiting[:2]:
            with pytest.raises(RemoteError, match=r"Error\.TooMany"):
                wait()
        assert waiting[2]() == ("x" * 100_000, 100_000)
        assert resident_bytes(service) < before + 5_000_000


def test_an_answer_may_be_large(service: Serving) -> None:
    with client() as caller, client() as other:
        waiting = [caller.begin("Large", "(u)", size) for size in (100_000, 200_000, 5_000_000)]
        assert other.call("Echo", "(s)", "a") == ("a", 1)
        assert [len(wait()[0]) for wait in waiting] == [100_000, 200_000, 5_000_000]


def test_pending_calls_limited_per_connection(service: Serving) -> None:
    with client() as caller, client() as other:
        waiting = [caller.begin("Echo", "(s)", "x" * 100_000) for _ in range(200)]
        assert other.call("Echo", "(s)", "a") == ("a", 1)
        answered = 0
        for wait in waiting:
            try:
                answered += wait()[1] == 100_000
            except RemoteError as err:
                assert err.name == f"{NAME}.Error.TooMany"  # noqa: PT017
        assert 20 <= answered <= 200


def test_signals_of_others_are_dropped_unread(service: Serving) -> None:
    _, glib = load_gio()
    with client() as caller:
        before = resident_bytes(service)
        for text in ("a", "x" * 10_000_000):
            caller.connection.emit_signal(NAME, PATH, NAME, "Told", glib.Variant("(s)", (text,)))
            gone = glib.Variant("(sss)", (caller.unique_name, caller.unique_name, ""))
            bus = "org.freedesktop.DBus"
            caller.connection.emit_signal(NAME, "/org/freedesktop/DBus", bus, "NameOwnerChanged", gone)
        caller.call("WatchMe")
        assert caller.call("Echo", "(s)", "a") == ("a", 1)
        assert resident_bytes(service) < before + 5_000_000
    assert next_line(service).startswith("gone ")


def test_no_descriptor_reaches_the_service(service: Serving) -> None:
    gio, glib = load_gio()
    with client() as caller, open(os.devnull, "rb") as file:  # noqa: PTH123
        descriptors = gio.UnixFDList.new()
        descriptors.append(file.fileno())
        with pytest.raises(glib.Error):
            caller.connection.call_with_unix_fd_list_sync(
                NAME, PATH, NAME, "Echo", glib.Variant("(s)", ("a",)), None, gio.DBusCallFlags.NONE, 5000,
                descriptors, None,
            )  # fmt: skip
        assert caller.call("Echo", "(s)", "a") == ("a", 1)


def test_unanswered_calls_cost_no_memory(service: Serving) -> None:
    gio, glib = load_gio()
    with client() as flood, client() as other:
        before = resident_bytes(service)
        for number in range(20_000):
            call = gio.DBusMessage.new_method_call(NAME, PATH, NAME, "Echo")
            call.set_flags(gio.DBusMessageFlags.NO_REPLY_EXPECTED)
            call.set_body(glib.Variant("(s)", ("x" * 400,)))
            flood.connection.send_message(call, gio.DBusSendMessageFlags.NONE)
            if number % 2000 == 0:
                assert other.call("Echo", "(s)", "a") == ("a", 1)
        wait_for_turn(flood)
        assert resident_bytes(service) < before + 20_000_000


def wait_for_turn(caller: Client) -> None:
    """Call until it is not refused: what this connection sent before has had its turn."""
    while True:
        try:
            assert caller.call("Echo", "(s)", "b") == ("b", 1)
        except RemoteError as err:
            assert err.name == f"{NAME}.Error.TooMany"  # noqa: PT017
        else:
            return


def test_a_gate_that_fails_ends_the_service(service: Serving, bus: Serving) -> None:
    with client() as caller:
        assert caller.call("Echo", "(s)", "a") == ("a", 1)
        caller.call("BreakGate")
    assert next_line(service) == "error the bus has gone away"
    assert service.wait(60) == 1
