"""A service on `app.dbus.service` for tests: ``python -m tests.bus.service_stand_in [MINUTES]``.

Prints ``ready`` when the name is its own, and a line for what it sees.
"""

from __future__ import annotations

import sys
from typing import Final

from app.dbus.polkit import Authorization, AuthorizationRequest
from app.dbus.service import BusError, BusService, Call, MethodError, Reply

NAME: Final = "org.pgfooting.StandIn1"
PATH: Final = "/org/pgfooting/StandIn1"
XML: Final = """<node><interface name="org.pgfooting.StandIn1">
<method name="Echo"><arg type="s" direction="in"/>
<arg type="s" direction="out"/><arg type="u" direction="out"/></method>
<method name="Later"><arg type="d" direction="in"/></method>
<method name="Break"/>
<method name="BreakLater"/>
<method name="Refuse"/>
<method name="Twice"/>
<method name="WhoAmI"><arg type="s" direction="out"/><arg type="i" direction="out"/></method>
<method name="WatchMe"/>
<method name="Tell"/>
<method name="Ask"><arg type="s" direction="in"/><arg type="d" direction="in"/>
<arg type="s" direction="out"/></method>
<method name="CancelQuestion"/>
<method name="Large"><arg type="u" direction="in"/><arg type="s" direction="out"/></method>
<method name="BreakGate"/>
<method name="Stop"/>
<signal name="Told"><arg type="s"/></signal>
</interface></node>"""


class StandIn:
    """Answers the calls."""

    def __init__(self) -> None:
        self.service = BusService(NAME, PATH, XML, self)
        self.question: AuthorizationRequest | None = None

    def __call__(self, call: Call, answer: Reply) -> None:
        getattr(self, f"_{call.method}")(call, answer)

    def _Echo(self, call: Call, answer: Reply) -> None:  # noqa: N802
        answer.give(call.arguments[0], len(call.arguments[0]))

    def _Later(self, call: Call, answer: Reply) -> None:  # noqa: N802
        self.service.later(call.arguments[0], answer.give)

    def _Break(self, call: Call, answer: Reply) -> None:  # noqa: N802
        raise ValueError("/root/secret")

    def _BreakLater(self, call: Call, answer: Reply) -> None:  # noqa: N802
        def fail() -> None:
            answer.give()
            raise ValueError("/root/secret")

        self.service.soon(fail)

    def _Refuse(self, call: Call, answer: Reply) -> None:  # noqa: N802
        raise MethodError("DiskRefused", "D05")

    def _Twice(self, call: Call, answer: Reply) -> None:  # noqa: N802
        answer.give()
        answer.give()

    def _WhoAmI(self, call: Call, answer: Reply) -> None:  # noqa: N802
        self.service.ask_credentials(
            call.sender, lambda found: answer.give(call.sender, found.get("UnixUserID", -1))
        )

    def _WatchMe(self, call: Call, answer: Reply) -> None:  # noqa: N802
        self.service.watch(call.sender, lambda: print_line(f"gone {call.sender}"))
        answer.give()

    def _Tell(self, call: Call, answer: Reply) -> None:  # noqa: N802
        self.service.emit(call.sender, "Told", "only you")
        answer.give()

    def _Ask(self, call: Call, answer: Reply) -> None:  # noqa: N802
        action, timeout_s = call.arguments

        def done(verdict: Authorization) -> None:
            answer.give(verdict.value)

        self.question = AuthorizationRequest(self.service.connection, done)
        self.question.ask(
            call.sender, action, {"disks": "A B"}, interactive=call.interactive, timeout_s=timeout_s
        )

    def _CancelQuestion(self, call: Call, answer: Reply) -> None:  # noqa: N802
        assert self.question is not None
        self.question.cancel()
        answer.give()

    def _Large(self, call: Call, answer: Reply) -> None:  # noqa: N802
        answer.give("x" * call.arguments[0])

    def _BreakGate(self, call: Call, answer: Reply) -> None:  # noqa: N802
        assert self.service._gate is not None
        self.service._gate._sort = None  # type: ignore[assignment,method-assign]
        answer.give()

    def _Stop(self, call: Call, answer: Reply) -> None:  # noqa: N802
        answer.give()
        self.service.later(0.05, self.service.stop)


def print_line(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201 - what the tests read


def main() -> int:
    """Serve until asked to stop."""
    try:
        StandIn().service.run(lambda: print_line("ready"))
    except BusError as err:
        print_line(f"error {err.reason}")
        return 1
    print_line("stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
