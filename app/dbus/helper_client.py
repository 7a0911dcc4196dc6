"""The client side of the helper's interface (`app/helper/interface.xml`, interface number 7).

All Gio calls run in one thread; calls from outside block for a limited time and can poll something else
meanwhile. The helper's unique name is looked up once, and only that connection is called and listened to:
another process that takes the well-known name later cannot speak for the helper that holds the disks.
"""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final, Self

from app.dbus.bus_thread import BusThread, open_system_bus
from app.dbus.helper_errors import (
    NOTHING_TOUCHED,
    DiskRefusedError,
    HelperStartsError,
    NoHelperError,
    PlanRefusedError,
    TooSoonError,
    error_of,
    lost,
    other_version,
)
from app.dbus.service import load_gio
from app.domain.disk import DiskIdentity, looked_from_wire, refusal_from_wire
from app.domain.disk_answers import ReadProgress, RootAnswer
from app.domain.errors import FootingError
from app.domain.filesystems import explained_problems
from app.domain.maintenance import MaintenanceEnd, maintenance
from app.domain.messages.message import message_from_wire
from app.domain.storage_plan.plan import MOST_GROUPS, KeptDisk, ReleaseOutcome, StoragePlan, kept_from_wire
from app.domain.storage_plan.reader import IDENTITY, PLANS, identity_to_wire, plan_problems, plan_to_wire
from app.domain.text import tr
from app.process.account import current_account

_log = logging.getLogger(__name__)

NAME: Final = "org.pgfooting.Helper1"
PATH: Final = "/org/pgfooting/Helper1"
INTERFACE_NUMBER: Final = 7
CONNECT_S: Final = 5.0
CALL_S: Final = 30.0
"""Limit of calls without a dialog, including the start of the helper."""
START_S: Final = 90.0
"""How long systemd lets a service start (DefaultTimeoutStartSec); the bus waits 25 s (dbus-daemon(1))."""
INSPECT_S: Final = 120.0
PERSON_S: Final = 660.0
"""Limit of calls that wait for a person: each of polkit's two questions may take five minutes."""
RELEASE_S: Final = PERSON_S + 300.0
"""Root waits for processes that only read the disk, wipes a few MB and reads secret places of the disk."""
SYNC_S: Final = 1800.0
MAINTENANCE_S: Final = 1800.0
"""Added to a maintenance's own limit, at which the helper ends it."""
KERNEL_LOG_S: Final = 2.0
"""Called once a second during a run: a slow helper must not delay writing the run file."""
READ_S: Final = 14 * 86400.0
"""Limit for reading a whole disk: GDBus stores milliseconds in 31 bits."""
_BUS: Final = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
_LOOK_S: Final = 0.05
_VARIANTS: Final = {bool: "b", int: "x", str: "s"}

Watch = Callable[[], None]
"""Called often during a wait; its exceptions end the wait."""


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class HelperVersion:
    """The version of the helper that answers.

    Attributes:
        program: version of the helper.
        interface: number of its interface.
        test_devices: whether it accepts loop devices as disks.
    """

    program: str
    interface: int
    test_devices: bool


@dataclass(frozen=True, slots=True)
class Description:
    """What the helper would do for plans.

    Attributes:
        plan: name of the plans, for `HelperClient.execute`.
        texts: lines for each plan, as written by the helper.
        digest: of all lines.
    """

    plan: str
    texts: tuple[tuple[str, ...], ...]
    digest: str


@dataclass(frozen=True, slots=True)
class HelperSignal:
    """A signal of the helper.

    Attributes:
        name: of the signal; ``Lost`` if the helper has left the bus.
        values: without the session's handle.
        received_s: `time.monotonic`.
        about: the session's handle; for Looking the device number.
    """

    name: str
    values: tuple[Any, ...]
    received_s: float
    about: str = ""


@dataclass(slots=True)
class HelperClient:
    """A connection to the helper; `close` ends its session.

    Attributes:
        thread: runs all Gio calls.
        connection: to the system bus.
        owner: the helper's unique name.
        version: as the helper reports it.
    """

    thread: BusThread
    connection: Any
    owner: str
    version: HelperVersion
    _events: queue.SimpleQueue[HelperSignal] = field(default_factory=queue.SimpleQueue, init=False)
    _session: str = field(default="", init=False)

    @classmethod
    def open(cls) -> Self:
        """Connect, start the helper if necessary, and check its interface number.

        Raises:
            NoHelperError: no PyGObject, no system bus, no helper, or one of another version.
            HelperLostError: it does not answer.
            HelperStartsError: it is not up within systemd's limit.
        """
        try:
            gio, glib = load_gio()
        except ImportError as err:
            message = tr("Spare disks need PyGObject (package python3-gi), which is not installed.")
            raise NoHelperError(f"{message} {NOTHING_TOUCHED}") from err
        thread = BusThread("helper-client")
        try:
            connection = thread.submit(lambda: open_system_bus(gio, CONNECT_S)).result(2 * CONNECT_S)
        except (glib.Error, TimeoutError) as err:
            thread.stop()
            message = tr("Spare disks need the system bus (D-Bus), which cannot be reached: {reason}.")
            reason = getattr(err, "message", "") or tr("it does not answer")
            raise NoHelperError(f"{message.format(reason=reason)} {NOTHING_TOUCHED}") from err
        client = cls(thread, connection, NAME, HelperVersion("", 0, test_devices=False))
        try:
            client._meet()
        except BaseException:
            client.close()
            raise
        return client

    def _meet(self) -> None:
        version = self._wake()
        if version.interface != INTERFACE_NUMBER:
            raise other_version(version.interface, INTERFACE_NUMBER)
        self.version = version
        (self.owner,) = self.call("GetNameOwner", "(s)", NAME, where=_BUS)
        self.thread.submit(self._subscribe).result(CALL_S)

    def _wake(self) -> HelperVersion:
        """Return the helper's version, retrying while it starts: that may take longer than the bus waits."""
        deadline_s = time.monotonic() + START_S
        while True:
            try:
                return HelperVersion(*self.call("Version"))
            except HelperStartsError:
                if time.monotonic() > deadline_s:
                    raise

    def inspect(
        self,
        disks: Sequence[DiskIdentity],
        watch: Watch = _nothing,
        *,
        progress: Callable[[float], None] | None = None,
        interactive: bool = True,
    ) -> dict[str, RootAnswer]:
        """Return root's answer for each disk, by device number; takes some seconds per rotating disk.

        Args:
            disks: as they were listed.
            watch: called often during the wait.
            progress: called with the share of all disks that has been inspected, 0 to 1.
            interactive: whether polkit may ask a person for a password.
        """
        places = {disk.device_number: place for place, disk in enumerate(disks)}

        def report() -> None:
            while progress is not None and (event := self.next_event(0)) is not None:
                if event.name == "Looking" and event.about in places:
                    done, whole = event.values
                    progress((places[event.about] + done / max(whole, 1)) / len(places))

        def look() -> None:
            report()
            watch()

        wires = [identity_to_wire(disk) for disk in disks]
        (answers,) = self.call(
            "Inspect", f"(a{IDENTITY})", wires, timeout_s=PERSON_S, interactive=interactive, watch=look
        )
        report()
        return {number: _root_answer(*answer) for number, *answer in answers}

    def read(
        self, disk: DiskIdentity, progress: Callable[[ReadProgress], None], watch: Watch = _nothing
    ) -> RootAnswer:
        """Have root read every byte of a disk, and return its answer; may take hours.

        Args:
            disk: as it was listed.
            progress: called with the progress.
            watch: called often; if it raises, `close` ends the reading.

        Raises:
            HelperBusyError: a session has claimed the disk.
            UnavailableError: the kernel could not report later writes to the disk, so the reading would prove
                nothing.
        """
        started_s = time.monotonic()

        def look() -> None:
            while (event := self.next_event(0)) is not None:
                if event.name == "Looking":
                    done, whole = event.values
                    progress(ReadProgress(done, whole, event.received_s - started_s))
            watch()

        wire = identity_to_wire(disk)
        (answer,) = self.call("Read", f"({IDENTITY})", wire, timeout_s=READ_S, interactive=True, watch=look)
        return _root_answer(*answer[1:])

    def inspect_kept(
        self, disk: DiskIdentity, watch: Watch = _nothing, *, interactive: bool = True
    ) -> tuple[KeptDisk, str]:
        """Return the contents of a disk kept in the helper's journal, and the digest needed to release it.

        Args:
            disk: as it was listed.
            watch: called often during the wait.
            interactive: whether polkit may ask a person for a password.

        Raises:
            RefusedError: the journal does not keep the disk.
            HelperBusyError: the disk belongs to a session that is alive.
            DiskRefusedError: the disk is gone or another one.
        """
        wire = identity_to_wire(disk)
        kept, digest = self.call(
            "InspectKept", f"({IDENTITY})", wire, timeout_s=PERSON_S, interactive=interactive, watch=watch
        )
        return kept_from_wire(kept), digest

    def release_kept(self, disk: DiskIdentity, digest: str, watch: Watch = _nothing) -> ReleaseOutcome:
        """Ask for authorisation to release a disk kept in the journal, and return the outcome.

        Args:
            disk: as it was listed.
            digest: from `inspect_kept`: root refuses if the disk has changed since.
            watch: called often while the person is asked.

        Raises:
            NotAuthorisedError: with polkit's verdict.
            DiskRefusedError: the disk is not released, with the reason; or it is gone or another one.
            RefusedError, HelperBusyError: as `inspect_kept`.
        """
        content = (identity_to_wire(disk), digest)
        outcome, message, hint = self.call(
            "ReleaseKept", f"({IDENTITY}s)", *content, timeout_s=RELEASE_S, interactive=True, watch=watch
        )
        if outcome == ReleaseOutcome.KEPT:
            raise DiskRefusedError(message_from_wire(message), hint=message_from_wire(hint))
        return ReleaseOutcome(outcome)

    def describe(self, plans: Sequence[StoragePlan], watch: Watch = _nothing) -> Description:
        """Return what the helper would do for plans; changes nothing and opens no dialog.

        Raises:
            CampaignError: a plan is impossible on this machine.
            DiskRefusedError: a disk is missing.
        """
        _, glib = load_gio()
        wires = [wire_of(plan, glib) for plan in plans]
        try:
            answer = self.call("Describe", f"({PLANS})", wires, timeout_s=INSPECT_S, watch=watch)
        except PlanRefusedError as error:
            raise PlanRefusedError(error.fields, _reasons(plans)) from error
        plan, texts, digest = answer
        return Description(plan, tuple(tuple(lines) for lines in texts), digest)

    def execute(self, description: Description, uid: int, watch: Watch = _nothing) -> HelperSession:
        """Ask for authorisation to erase the disks, and lock them; creates nothing yet.

        Args:
            description: the text that the person saw.
            uid: owner of the storage.
            watch: called often while the person is asked; if it raises, the question is cancelled.

        Raises:
            NotAuthorisedError: with polkit's verdict.
            DiskRefusedError: a disk is not spare.
            HelperBusyError: another campaign has it.
        """
        content = (description.plan, description.digest, uid)
        (handle,) = self.call("Execute", "(ssu)", *content, timeout_s=PERSON_S, interactive=True, watch=watch)
        self._session = handle
        return HelperSession(self, handle)

    def close(self) -> None:
        """Leave the bus: the helper removes and releases everything this client still holds."""
        _, glib = load_gio()

        def leave() -> None:
            if not self.connection.is_closed():
                self.connection.close_sync(None)

        with suppress(glib.Error, TimeoutError):  # what hangs is left to the end of the process
            self.thread.submit(leave).result(CONNECT_S)
        self.thread.stop()

    def next_event(self, timeout_s: float) -> HelperSignal | None:
        """Return the next signal; None after the timeout."""
        try:
            return self._events.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def call(
        self,
        method: str,
        signature: str = "()",
        *values: object,
        timeout_s: float = CALL_S,
        interactive: bool = False,
        watch: Watch = _nothing,
        where: tuple[str, str, str] | None = None,
    ) -> tuple[Any, ...]:
        """Call a method and return its unpacked results.

        Raises:
            FootingError: the helper's error (`app.dbus.helper_errors.error_of`).
        """
        gio, glib = load_gio()
        answer: Future[tuple[Any, ...]] = Future()
        flags = gio.DBusCallFlags.ALLOW_INTERACTIVE_AUTHORIZATION if interactive else gio.DBusCallFlags.NONE
        if self.owner != NAME:  # do not start a new helper in the middle of a session
            flags |= gio.DBusCallFlags.NO_AUTO_START

        bus_name, path, interface = where or (self.owner, PATH, NAME)

        def finish(connection: Any, result: Any) -> None:  # noqa: ANN401 - Gio has no types
            try:
                answer.set_result(connection.call_finish(result).unpack())
            except glib.Error as err:
                answer.set_exception(_error_of(err, gio, met=bus_name == self.owner != NAME))

        def begin() -> None:
            content = glib.Variant(signature, values)
            limit_ms = int(timeout_s * 1000)
            arguments = (bus_name, path, interface, method, content, None, flags, limit_ms, None, finish)
            self.connection.call(*arguments)

        self.thread.submit(begin).result(CALL_S)
        begun_s = time.monotonic()
        deadline_s = begun_s + timeout_s + CALL_S
        while time.monotonic() < deadline_s:
            try:
                answered = answer.result(_LOOK_S)
            except TimeoutError:
                watch()
            else:
                _log.debug("%s of %s: %.3f s", method, bus_name, time.monotonic() - begun_s)
                return answered
        raise lost()

    def _subscribe(self) -> None:
        gio, _ = load_gio()
        none = gio.DBusSignalFlags.NONE
        self.connection.signal_subscribe(self.owner, NAME, None, PATH, None, none, self._on_signal)
        bus, path, interface = _BUS
        self.connection.signal_subscribe(
            bus, interface, "NameOwnerChanged", path, self.owner, none, self._on_lost
        )
        self.connection.connect("closed", self._on_lost)

    def _on_signal(self, _c: Any, _sender: str, _p: str, _i: str, name: str, content: Any) -> None:  # noqa: ANN401
        handle, *values = content.unpack()
        if not self._session or handle == self._session:
            self._events.put(HelperSignal(name, tuple(values), time.monotonic(), handle))

    def _on_lost(self, *_values: object) -> None:
        self._events.put(HelperSignal("Lost", (), time.monotonic()))


def _error_of(err: Any, gio: ModuleType, *, met: bool) -> FootingError:  # noqa: ANN401 - GLib.Error has no types
    name = gio.DBusError.get_remote_error(err) or ""
    text = err.message.partition(": ")[2] if name else err.message
    code = name.rpartition(".")[2]
    return error_of(name, "" if text == code else text, current_account().name, met=met)


def _root_answer(answer: str, reasons: Sequence[Sequence[str]], looked: Sequence[Any]) -> RootAnswer:
    return RootAnswer(answer == "spare", tuple(map(refusal_from_wire, reasons)), looked_from_wire(looked))


def _reasons(plans: Sequence[StoragePlan]) -> dict[str, str]:
    """Return the problems of plans, by field as the helper names it.

    Root sends no sentences: both sides use the same rules, which give the reasons here.
    """
    return {
        f"plans[{number}].{each.path}": each.message
        for number, plan in enumerate(plans)
        for each in plan_problems(plan, explained_problems)
    }


def wire_of(plan: StoragePlan, glib: ModuleType) -> tuple[Any, ...]:
    """Return a plan as it crosses the bus, its options as variants."""

    def group(wire: tuple[Any, ...]) -> tuple[Any, ...]:
        options: Mapping[str, object] = wire[3]
        variants = {name: glib.Variant(_VARIANTS[type(value)], value) for name, value in options.items()}
        return (*wire[:3], variants, *wire[4:])

    data, further, log = plan_to_wire(plan)
    return group(data), [(name, group(each)) for name, each in further], log


def _wait(seconds: float, watch: Watch) -> None:
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        watch()
        time.sleep(_LOOK_S)


@dataclass(frozen=True, slots=True)
class HelperSession:
    """Disks that are ours until `release`; methods as in the interface, errors as in `HelperClient.call`."""

    client: HelperClient
    handle: str

    def make(self, number: int) -> None:
        """Start to create one of the described plans; ends with ``Ready`` or ``Unmade``."""
        self._call("Make", "(su)", number)

    def renew(self) -> None:
        """Keep the session alive; otherwise it ends twelve hours after the last `make`."""
        self._call("Renew", "(s)")

    def unmake(self) -> None:
        """Start to remove the created storage; ends with ``Unmade``."""
        self._call("Unmake", "(s)")

    def release(self) -> None:
        """Start to remove everything and release the disks; ends with ``Ended``."""
        self._call("Release", "(s)")

    def limit(self, memory_bytes: int) -> None:
        """Limit the memory of PostgreSQL and pgbench together; 0 for no limit."""
        self._call("Limit", "(st)", memory_bytes)

    def adopt(self, part: str, pid: int) -> str:
        """Move a process into the session's control group; return its path."""
        (path,) = self._call("Adopt", "(ssu)", part, pid)
        return str(path)

    def drop_caches(self, watch: Watch = _nothing) -> None:
        """Write dirty pages and drop the page cache; if that was done just now, wait and repeat."""
        while True:
            try:
                self.client.call("DropCaches", "(s)", self.handle, timeout_s=SYNC_S, watch=watch)
            except TooSoonError as error:
                _wait(error.wait_s, watch)
            else:
                return

    def maintain(self, name: str, watch: Watch = _nothing) -> MaintenanceEnd:
        """Run a maintenance of `app.domain.maintenance` as root; return when it has ended.

        May be called in another thread than the other methods.

        Raises:
            UnavailableError: the storage does not support it.
            HelperBusyError: another maintenance is running.
        """
        limit_s = (
            maintenance(name).limit_s * MOST_GROUPS + MAINTENANCE_S
        )  # of each filesystem, one after the other
        how, said, seconds = self.client.call(
            "Maintain", "(ss)", self.handle, name, timeout_s=limit_s, watch=watch
        )
        return MaintenanceEnd(how, message_from_wire(said), seconds)

    def end_maintenance(self) -> None:
        """End a running maintenance; `maintain` returns then."""
        self._call("EndMaintenance", "(s)")

    def health(self) -> dict[str, dict[str, str]]:
        """Return the health values of each disk, by device number."""
        (disks,) = self._call("Health", "(s)", timeout_s=INSPECT_S)
        return {number: dict(values) for number, values in disks}

    def kernel_log(self) -> tuple[str, ...]:
        """Return the kernel log lines about the session's disks since the last call."""
        (lines,) = self._call("KernelLog", "(s)", timeout_s=KERNEL_LOG_S)
        return tuple(map(str, lines))

    def _call(
        self, method: str, signature: str, *values: object, timeout_s: float = CALL_S
    ) -> tuple[Any, ...]:
        return self.client.call(method, signature, self.handle, *values, timeout_s=timeout_s)
