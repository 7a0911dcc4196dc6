"""The user's side of the helper's interface (`app/helper/interface.xml`, interface number 7).

Everything of Gio happens in a thread of its own; whoever calls here waits in bounded time, and may look at
other things meanwhile. The helper's unique name is asked once: calls go to it and signals are taken from it
alone, so that nobody who takes the well-known name later can speak for the helper that holds the disks.
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

from app.dbus.bus_thread import BusThread
from app.dbus.connection import open_system_bus
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
from app.dbus.introspection import load_gio
from app.domain.disk import DiskIdentity, RootAnswer, refusal_from_wire
from app.domain.errors import FootingError
from app.domain.inspection_report import ReadProgress, looked_from_wire
from app.domain.maintenance import MaintenanceEnd, maintenance
from app.domain.messages.message import message_from_wire
from app.domain.storage_plan.kept_disk import KeptDisk, ReleaseOutcome, kept_from_wire
from app.domain.storage_plan.plan import MOST_GROUPS, StoragePlan
from app.domain.storage_plan.problems import plan_problems
from app.domain.storage_plan.wire import IDENTITY, PLANS, identity_to_wire, plan_to_wire
from app.domain.text import tr
from app.process.account import current_account

_log = logging.getLogger(__name__)

NAME: Final = "org.pgfooting.Helper1"
PATH: Final = "/org/pgfooting/Helper1"
INTERFACE_NUMBER: Final = 7
CONNECT_S: Final = 5.0
CALL_S: Final = 30.0
"""Of calls that wait for nobody; starting the helper is one of them."""
START_S: Final = 90.0
"""How long systemd lets a service start (DefaultTimeoutStartSec); the bus waits 25 s (dbus-daemon(1))."""
INSPECT_S: Final = 120.0
PERSON_S: Final = 660.0
"""Of calls that wait for a person: polkit's two questions may take five minutes each."""
RELEASE_S: Final = PERSON_S + 300.0
"""Root waits for those who only read the disk, then wipes a few MB and looks at secret places of the disk."""
SYNC_S: Final = 1800.0
MAINTENANCE_S: Final = 1800.0
"""How much longer than its own limit the answer of a maintenance may take: the helper ends it first."""
KERNEL_LOG_S: Final = 2.0
"""Asked once a second while measured: a helper that is slow must not keep the run file from growing."""
READ_S: Final = 14 * 86400.0
"""Of reading a whole disk: GDBus counts milliseconds in 31 bits."""
_BUS: Final = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
_LOOK_S: Final = 0.05
_VARIANTS: Final = {bool: "b", int: "x", str: "s"}

Watch = Callable[[], None]
"""Called often while something is waited for; what it raises ends the waiting."""


def _nothing() -> None:
    """Look at nothing."""


@dataclass(frozen=True, slots=True)
class HelperVersion:
    """Who answers.

    Attributes:
        program: version of the helper.
        interface: number of its interface.
        test_devices: whether it takes loop devices for disks.
    """

    program: str
    interface: int
    test_devices: bool


@dataclass(frozen=True, slots=True)
class Description:
    """What the helper would do.

    Attributes:
        plan: name of the plans, for `HelperClient.execute`.
        texts: lines for each plan, in the helper's own words.
        digest: of all lines.
    """

    plan: str
    texts: tuple[tuple[str, ...], ...]
    digest: str


@dataclass(frozen=True, slots=True)
class HelperSignal:
    """A signal of the helper.

    Attributes:
        name: of the signal; ``Lost`` where the helper has left the bus.
        values: without the session's handle.
        received_s: `time.monotonic`.
        about: the session's handle; of Looking the number of the device.
    """

    name: str
    values: tuple[Any, ...]
    received_s: float
    about: str = ""


@dataclass(slots=True)
class HelperClient:
    """A connection to the helper; `close` ends what it began.

    Attributes:
        thread: in which everything of Gio happens.
        connection: to the system bus.
        owner: the helper's unique name.
        version: what it says of itself.
    """

    thread: BusThread
    connection: Any
    owner: str
    version: HelperVersion
    _events: queue.SimpleQueue[HelperSignal] = field(default_factory=queue.SimpleQueue, init=False)
    _session: str = field(default="", init=False)

    @classmethod
    def open(cls) -> Self:
        """Connect, start the helper where it sleeps, and make sure that it speaks our version.

        Raises:
            NoHelperError: no PyGObject, no system bus, no helper, or one of another version.
            HelperLostError: it does not answer.
            HelperStartsError: it does not come as long as systemd waits for it.
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
        """Return what the helper says of itself, once it runs: it may start for longer than the bus waits."""
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
        """Return by device number what root says of disks; some seconds for each that rotates.

        Args:
            disks: as they were listed.
            watch: called often while it is waited for.
            progress: told which share of all disks is looked at, 0 to 1.
            interactive: whether a person may be asked for a password, where this machine's rules want one.
        """
        places = {disk.device_number: place for place, disk in enumerate(disks)}

        def tell() -> None:
            while progress is not None and (event := self.next_event(0)) is not None:
                if event.name == "Looking" and event.about in places:
                    done, whole = event.values
                    progress((places[event.about] + done / max(whole, 1)) / len(places))

        def look() -> None:
            tell()
            watch()

        wires = [identity_to_wire(disk) for disk in disks]
        (answers,) = self.call(
            "Inspect", f"(a{IDENTITY})", wires, timeout_s=PERSON_S, interactive=interactive, watch=look
        )
        tell()
        return {number: _root_answer(*answer) for number, *answer in answers}

    def read(
        self, disk: DiskIdentity, progress: Callable[[ReadProgress], None], watch: Watch = _nothing
    ) -> RootAnswer:
        """Have root read every byte of a disk, and return what it says of it then; may take hours.

        Args:
            disk: as it was listed.
            progress: told how far it is.
            watch: called often; where it raises, `close` ends the reading.

        Raises:
            HelperBusyError: a session has claimed the disk meanwhile.
            CannotError: nothing would end what root knew of the disk.
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
        """Return what is on a disk that the helper's journal keeps, and the digest by which it is released.

        Args:
            disk: as it was listed.
            watch: called often while it is waited for.
            interactive: whether a person may be asked for a password, where this machine's rules want one.

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
        """Ask for authorisation to release a disk that the journal keeps, and return how it was released.

        Args:
            disk: as it was listed.
            digest: of `inspect_kept`: root refuses a disk that is not as it was shown.
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
        """Return what the helper would do for plans; touches nothing, and nobody is asked.

        Raises:
            CampaignError: a plan cannot be made here.
            DiskRefusedError: a disk is not here.
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
        """Ask for authorisation to erase the disks and lock them; makes nothing yet.

        Args:
            description: what the person saw.
            uid: to whom storage is handed.
            watch: called often while the person is asked; where it raises, the question is called off.

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
        """Leave the bus: the helper unmakes and releases whatever is still ours."""
        _, glib = load_gio()

        def leave() -> None:
            if not self.connection.is_closed():
                self.connection.close_sync(None)

        with suppress(glib.Error, TimeoutError):  # what hangs is left to the end of the process
            self.thread.submit(leave).result(CONNECT_S)
        self.thread.stop()

    def next_event(self, timeout_s: float) -> HelperSignal | None:
        """Return the next signal; None where none came in time."""
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
        """Call a method and return what it answers, unpacked.

        Raises:
            FootingError: what was answered instead (`app.dbus.helper_errors.error_of`).
        """
        gio, glib = load_gio()
        answer: Future[tuple[Any, ...]] = Future()
        flags = gio.DBusCallFlags.ALLOW_INTERACTIVE_AUTHORIZATION if interactive else gio.DBusCallFlags.NONE
        if self.owner != NAME:  # a helper that is gone is not started anew in the middle of a session
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
    """Return what is wrong with plans, by field as the helper names it.

    Root says no sentences: it reads plans by the same rules, which say here why.
    """
    return {
        f"plans[{number}].{each.path}": each.message
        for number, plan in enumerate(plans)
        for each in plan_problems(plan)
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
    """Disks that are ours until `release`; methods as in the interface, errors as `HelperClient.call`."""

    client: HelperClient
    handle: str

    def make(self, number: int) -> None:
        """Begin to make one of the described plans; ``Ready`` or ``Unmade`` tells the end."""
        self._call("Make", "(su)", number)

    def renew(self) -> None:
        """Tell that the session is used; otherwise it ends twelve hours after the last `make`."""
        self._call("Renew", "(s)")

    def unmake(self) -> None:
        """Begin to unmake what is made; ``Unmade`` tells the end."""
        self._call("Unmake", "(s)")

    def release(self) -> None:
        """Begin to unmake everything and give the disks back; ``Ended`` tells the end."""
        self._call("Release", "(s)")

    def limit(self, memory_bytes: int) -> None:
        """Limit the memory of PostgreSQL and pgbench together; 0 for no limit."""
        self._call("Limit", "(st)", memory_bytes)

    def adopt(self, part: str, pid: int) -> str:
        """Move a process into the session's control group; return its path."""
        (path,) = self._call("Adopt", "(ssu)", part, pid)
        return str(path)

    def drop_caches(self, watch: Watch = _nothing) -> None:
        """Write what is dirty and forget what is cached; waits where that was done a moment ago."""
        while True:
            try:
                self.client.call("DropCaches", "(s)", self.handle, timeout_s=SYNC_S, watch=watch)
            except TooSoonError as error:
                _wait(error.wait_s, watch)
            else:
                return

    def maintain(self, name: str, watch: Watch = _nothing) -> MaintenanceEnd:
        """Have root do what stands under a name in `app.domain.maintenance`; returns when it has ended.

        May be called in another thread than everything else.

        Raises:
            CannotError: the storage has no such thing.
            HelperBusyError: another maintenance is under way.
        """
        limit_s = (
            maintenance(name).limit_s * MOST_GROUPS + MAINTENANCE_S
        )  # of each filesystem, one after the other
        how, said, seconds = self.client.call(
            "Maintain", "(ss)", self.handle, name, timeout_s=limit_s, watch=watch
        )
        return MaintenanceEnd(how, message_from_wire(said), seconds)

    def end_maintenance(self) -> None:
        """Have a maintenance that is under way end; `maintain` returns then."""
        self._call("EndMaintenance", "(s)")

    def health(self) -> dict[str, dict[str, str]]:
        """Return what each disk tells of itself, by device number."""
        (disks,) = self._call("Health", "(s)", timeout_s=INSPECT_S)
        return {number: dict(values) for number, values in disks}

    def kernel_log(self) -> tuple[str, ...]:
        """Return what the kernel's log said of the session's disks since this was asked last."""
        (lines,) = self._call("KernelLog", "(s)", timeout_s=KERNEL_LOG_S)
        return tuple(map(str, lines))

    def _call(
        self, method: str, signature: str, *values: object, timeout_s: float = CALL_S
    ) -> tuple[Any, ...]:
        return self.client.call(method, signature, self.handle, *values, timeout_s=timeout_s)
