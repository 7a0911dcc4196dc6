"""What answers as the helper in tests of its client: ``python -m tests.bus.helper_stand_in BEHAVIOUR``.

The interface is the real one; nothing is made. BEHAVIOUR: ``works``, ``older-version``, ``newer-version``,
``dies`` (at Make), ``refuses`` (Execute and ReleaseKept answer the error TEXT, ``NAME:text``), ``waits``
(Execute and ReleaseKept are never answered), ``fails`` (Make ends in Unmade with an error), ``keeps``
(Inspect calls no disk spare, ReleaseKept releases none), ``expires``
(while making and while ready it says that the session ends), ``ends`` (it has ended because nobody used it),
``hurries`` (DropCaches is first answered TooSoon, with TEXT), ``hangs`` (Maintain is never answered, and
cannot be ended).
TEXT follows it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from app.dbus.helper_client import INTERFACE_NUMBER
from app.dbus.service import BusService, Call, MethodError, Reply
from app.domain.disk import DiskRefusal, UnreleasedItem, refusal_to_wire, unreleased_to_wire
from app.domain.messages.message import WireMessage, message_to_wire
from app.domain.messages.message import say as say_code
from app.domain.step_progress import Operation, StepProgress, progress_to_wire
from app.domain.storage_plan.plan import KeptContent, KeptDisk, kept_to_wire
from tests.bus.service_stand_in import print_line

XML = (Path(__file__).parents[2] / "app/helper/interface.xml").read_text(encoding="utf-8")
NAME = "org.pgfooting.Helper1"
PATH = "/org/pgfooting/Helper1"
HANDLE = "handle"
NO_MESSAGES: tuple[WireMessage, WireMessage] = (("", {}), ("", {}))
_VERSIONS = {"newer-version": 1, "older-version": -1}
KEPT = UnreleasedItem("/dev/sdb", "S1", "xfs is there", "look at it")


class StandIn:
    """Answers the calls."""

    def __init__(self, behaviour: str, text: str) -> None:
        self.behaviour = behaviour
        self.text = text
        self.service = BusService(NAME, PATH, XML, self)

    def __call__(self, call: Call, answer: Reply) -> None:
        print_line(f"{call.method} {call.interactive}")
        getattr(self, f"_{call.method}")(call, answer)

    def _Version(self, _call: Call, answer: Reply) -> None:  # noqa: N802
        answer.give("0.0", INTERFACE_NUMBER + _VERSIONS.get(self.behaviour, 0), True)  # noqa: FBT003

    def _Describe(self, call: Call, answer: Reply) -> None:  # noqa: N802
        ((*plans,),) = call.arguments
        answer.give("plan", [[f"mkfs {number}"] for number in range(len(plans))], "digest")

    def _Read(self, call: Call, answer: Reply) -> None:  # noqa: N802
        (wire,) = call.arguments
        for done in (0, 500, 1000):
            self.service.emit(call.sender, "Looking", wire[4], done, 1000)
        if self.behaviour != "waits":
            answer.give((wire[4], "spare", [], (16 << 20, 1280, 65536, 2 << 30, 1.8e9, 0.0)))

    def _InspectKept(self, _call: Call, answer: Reply) -> None:  # noqa: N802
        content = KeptContent("/dev/sdb1", "ext4", "", "CUSTOMERS", "/srv", 1.8e9, 1, 2)
        kept = KeptDisk(True, True, True, 1.7e9, (content,), say_code("journal-session", id="7"))  # noqa: FBT003
        answer.give(kept_to_wire(kept), "digest")

    def _ReleaseKept(self, call: Call, answer: Reply) -> None:  # noqa: N802
        _, digest = call.arguments
        if self.behaviour == "refuses":
            raise MethodError(*self.text.split(":", 1))
        if self.behaviour == "keeps":
            found = message_to_wire(say_code("not-as-shown", disk=digest)), message_to_wire("Look.")
            answer.give("kept", *found)
        elif self.behaviour != "waits":
            answer.give("wiped", *NO_MESSAGES)

    def _Execute(self, _call: Call, answer: Reply) -> None:  # noqa: N802
        if self.behaviour == "refuses":
            raise MethodError(*self.text.split(":", 1))
        if self.behaviour != "waits":
            answer.give(HANDLE)

    def _Make(self, call: Call, answer: Reply) -> None:  # noqa: N802
        if self.behaviour == "dies":
            os._exit(1)
        answer.give()
        if self.behaviour == "expires":
            self._emit(call, "Expiring", 3600)
        self._emit(call, "Progress", *progress_to_wire(StepProgress(Operation.COMMAND, 1, 2, "mkfs")))
        self._emit(call, "Executed", "mkfs.ext4 '/dev/a b'", 0, 1.5, "done")
        self._emit(call, "Executed", "it settles", -1000, 0.5, "")
        if self.behaviour == "fails":
            error = (say_code("program-missing", name="mkfs", folders="/sbin"), "buy another disk")
            self._emit(call, "Unmade", "storage", *map(message_to_wire, error), [])
        else:
            self._emit(call, "Ready", "/s", {"wal": "/w", "tables": "/t"}, "/p")
        if self.behaviour == "expires":
            self._emit(call, "Expiring", 3600)
        if self.behaviour == "ends":
            self._emit(call, "Ended", "expired", *NO_MESSAGES, [])

    def _Limit(self, _call: Call, answer: Reply) -> None:  # noqa: N802
        answer.give()

    def _Renew(self, _call: Call, answer: Reply) -> None:  # noqa: N802
        answer.give()

    def _DropCaches(self, _call: Call, answer: Reply) -> None:  # noqa: N802
        if self.behaviour == "hurries":
            self.behaviour = "works"
            raise MethodError("TooSoon", self.text)
        answer.give()

    def _Maintain(self, call: Call, answer: Reply) -> None:  # noqa: N802
        _, name = call.arguments
        if self.behaviour == "hangs":
            return
        if name == "busy":
            raise MethodError("Busy", "maintained")
        if name == "none":
            raise MethodError("Unavailable", "no-maintenance")
        self._emit(call, "Progress", *progress_to_wire(StepProgress(Operation.MAINTAIN, 1, 1, name, 0.5)))
        self._emit(call, "Executed", f"{name} /s", 1 if name == "fails" else 0, 1.5, "said")
        ended = "failed" if name == "fails" else "done"
        answer.give(ended, message_to_wire("why" if name == "fails" else ""), 1.5)

    def _EndMaintenance(self, _call: Call, answer: Reply) -> None:  # noqa: N802
        if self.behaviour == "hangs":
            raise MethodError("Failed")
        answer.give()

    def _Unmake(self, call: Call, answer: Reply) -> None:  # noqa: N802
        answer.give()
        self._emit(call, "Unmade", "", *NO_MESSAGES, [unreleased_to_wire(KEPT)])

    def _Release(self, call: Call, answer: Reply) -> None:  # noqa: N802
        answer.give()
        self._emit(call, "Ended", "", *NO_MESSAGES, [])

    def _Inspect(self, call: Call, answer: Reply) -> None:  # noqa: N802
        ((*disks,),) = call.arguments
        reasons = [
            refusal_to_wire(DiskRefusal("D18", "It was not given back.", "xfs is there", "Look at it."))
        ]
        looked = (16 << 20, 1280, 65536, 2 << 30, 0.0, 0.0)
        found = ("not spare", reasons, looked) if self.behaviour == "keeps" else ("spare", [], looked)
        for disk in disks:
            for done in (0, 320, 1280):
                self.service.emit(call.sender, "Looking", disk[4], done, 1280)
        answer.give([(disk[4], *found) for disk in disks])

    def _Adopt(self, _call: Call, _answer: Reply) -> None:  # noqa: N802
        raise MethodError("Unavailable", "no-cgroup2")

    def _emit(self, call: Call, signal: str, *values: object) -> None:
        self.service.emit(call.sender, signal, HANDLE, *values)


if __name__ == "__main__":
    stand_in = StandIn(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
    stand_in.service.run(lambda: print_line("ready"))
