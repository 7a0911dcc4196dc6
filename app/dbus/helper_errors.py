"""Errors between a user's program and the helper, each with a hint.

The helper sends names and values (`app/helper/interface.xml`); the sentences are made here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from app.domain.errors import BusyError, CampaignError, ExitStatus, FootingError, RefusedError, StorageError
from app.domain.text import tr

PREFIX: Final = "org.pgfooting.Helper1.Error."
NOTHING_TOUCHED: Final = tr("Nothing was touched.")
_LONGEST: Final = 2000
_LONGEST_WAIT_S: Final = 60
_MOST_DIGITS: Final = 6


class NoHelperError(RefusedError):
    """There is no helper that this program can talk to; nothing was touched."""

    code = "no-helper"


class HelperStartsError(NoHelperError):
    """The helper is still starting when the bus stops waiting for it; nothing was touched."""

    code = "helper-starts"


class NotAuthorisedError(RefusedError):
    """polkit refused, or could not ask anyone; nothing was touched.

    Attributes:
        verdict: of polkit, a value of `app.dbus.polkit.Authorization`.
    """

    code = "not-authorised"

    def __init__(self, message: str, *, hint: str = "", verdict: str) -> None:
        super().__init__(message, hint=hint)
        self.verdict = verdict


class DiskRefusedError(RefusedError):
    """A disk is not spare, or not the one that was chosen; nothing was touched."""

    code = "disk-refused"


class HelperBusyError(BusyError):
    """The helper works for another client, or is still busy with an earlier call."""

    code = "helper-busy"
    exit_status: ClassVar[ExitStatus] = ExitStatus.REFUSED


class HelperLostError(StorageError):
    """The helper went away or does not answer; it removes its storage when it starts again."""

    code = "helper-lost"


class UnavailableError(FootingError):
    """This machine or filesystem does not support an operation.

    Attributes:
        reason: one word of the helper.
    """

    code = "helper-cannot"

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class TooSoonError(FootingError):
    """The helper does this again only after a pause.

    Attributes:
        wait_s: length of the pause.
    """

    code = "helper-too-soon"

    def __init__(self, message: str, *, wait_s: float) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class ExpiredError(StorageError):
    """The helper ended an unused session and released its disks."""

    code = "session-expired"


def expired() -> ExpiredError:
    """Return the error for a session that the helper ended because it was unused."""
    message = tr("The helper released the disks, because the campaign did not use them for twelve hours.")
    return ExpiredError(message, hint=tr("Start it again with --resume: the measured data is kept."))


RULE_FILE: Final = "/etc/polkit-1/rules.d/50-pgfooting.rules"


def rule_of(user: str) -> str:
    """Return the polkit rule that lets a user erase disks without a question."""
    name = user.replace("\\", "\\\\").replace('"', '\\"')
    return (
        "polkit.addRule(function(action, subject) {\n"
        f'    if (action.id.indexOf("org.pgfooting.helper.") == 0 && subject.user == "{name}") {{\n'
        "        return polkit.Result.YES;\n"
        "    }\n"
        "});"
    )


def not_authorised(verdict: str, user: str) -> NotAuthorisedError:
    """Return the error for a verdict of polkit.

    Args:
        verdict: a value of `app.dbus.polkit.Authorization`.
        user: name of the calling user.
    """
    sentence, hint = _VERDICTS.get(verdict, (tr("The helper refused: {verdict}."), ""))
    message = f"{sentence.format(verdict=verdict[:80])} {NOTHING_TOUCHED}"
    return NotAuthorisedError(message, hint=hint.format(rule=_rule_hint(user)), verdict=verdict)


def _rule_hint(user: str) -> str:
    words = tr("An administrator can allow it permanently for {user}, in {file}:")
    return f"{words.format(user=user, file=RULE_FILE)}\n{rule_of(user)}"


_VERDICTS: Final = {
    "denied": (
        tr("This machine's polkit rules do not let you erase disks."),
        tr("Ask its administrator to allow you the action org.pgfooting.helper.erase."),
    ),
    "challenge": (
        tr("Erasing disks needs an administrator's password, but polkit has no way to ask for it here."),
        tr(
            "Start it in a desktop session or in a terminal where the program pkttyagent is installed "
            "(package polkitd or policykit-1).\n{rule}"
        ),
    ),
    "dismissed": (tr("The password prompt was cancelled."), ""),
    "failed": (
        tr("The password was wrong, or that user may not allow it."),
        tr("Start it again to get a new prompt."),
    ),
    "timed-out": (
        tr("The password prompt was not answered in time."),
        tr("Start it again and answer within five minutes."),
    ),
    "cancelled": (tr("The password prompt was cancelled."), ""),
    "no-account": (
        tr("The helper serves only users with an account on this machine."),
        tr("In a container, use the ID of one of the host's users, or run pgFooting outside."),
    ),
    "unavailable": (
        tr("The helper got no answer from polkit, which decides who may erase disks."),
        tr("Install and start it (package polkitd or policykit-1; service polkit.service)."),
    ),
}

_BUSY: Final = {
    "": (
        tr("The helper is busy with another campaign or an earlier request."),
        tr("Only one campaign at a time can use spare disks on a machine."),
    ),
    "session": (
        tr("A running campaign uses this disk."),
        tr("Its disks are released when it ends."),
    ),
    "asked": (
        tr("Another password prompt of yours is open on this machine."),
        tr("Answer or close it first; it closes by itself after five minutes."),
    ),
    "called-off": (
        tr("The disk was not read completely, because a campaign started to use it."),
        tr("Read it again when the campaign has ended."),
    ),
    "overtaken": (
        tr("The password prompt was closed, because another campaign was authorised first."),
        tr("Start it again when that one has ended: only one campaign at a time can use spare disks."),
    ),
    "maintained": (
        tr("Another maintenance task is running on this storage."),
        tr("Wait until it has ended."),
    ),
}
"""Sentence and hint by the text of Busy; all but the first are sent before anything is touched."""

_CANNOT: Final = {
    "no-cgroup2": tr("cgroup v2 is not mounted"),
    "read-only": tr("the kernel's control files are read-only here, as in a container"),
    "no-controller": tr("cgroup v2 has no memory controller here"),
    "systemd": tr("systemd refused"),
    "not-counted": tr("the kernel does not count writes to this disk (queue/iostats, diskseq)"),
    "no-maintenance": tr("no filesystem of this storage supports this"),
    "not-mounted": tr("something else is mounted on the storage"),
}


def _refused_disks(text: str) -> FootingError:
    lines = "\n".join(f"  {line}" for line in text[:_LONGEST].splitlines())
    message = tr("The helper refuses these disks:") + f"\n{lines}\n{NOTHING_TOUCHED}"
    hint = tr("“pgfooting disks” shows the reason for each disk, and the remedy.")
    return DiskRefusedError(message, hint=hint)


class PlanRefusedError(CampaignError):
    """The helper rejects a plan; nothing was touched.

    Attributes:
        fields: the wrong fields, such as ``plans[0].data.level``: the helper names fields without reasons.
    """

    def __init__(self, fields: Sequence[str], reasons: Mapping[str, str] | None = None) -> None:
        self.fields = tuple(fields)
        known = reasons or {}
        lines = "\n".join(f"  {each}: {known[each]}" if each in known else f"  {each}" for each in fields)
        super().__init__(tr("The helper cannot create this storage:") + f"\n{lines}\n{NOTHING_TOUCHED}")


def _bad_plan(text: str) -> FootingError:
    return PlanRefusedError(text[:_LONGEST].splitlines())


def _busy(text: str) -> FootingError:
    message, hint = _BUSY.get(text, _BUSY[""])
    if text in {"asked", "overtaken", "session"}:
        message = f"{message} {NOTHING_TOUCHED}"
    return HelperBusyError(message, hint=hint)


def _unknown(text: str) -> FootingError:
    if text == "not-kept":
        message = tr("The helper has no record of this disk, so there is nothing to release.")
        return RefusedError(f"{message} {NOTHING_TOUCHED}", hint=tr("“pgfooting disks” shows its state."))
    return HelperLostError(tr("The helper's session has ended, and these disks are no longer part of it."))


def _bad_user(_text: str) -> FootingError:
    message = tr("The helper gives storage only to known users other than root.")
    return RefusedError(f"{message} {NOTHING_TOUCHED}")


def _unavailable(text: str) -> FootingError:
    reason = _CANNOT.get(text, text[:80])
    return UnavailableError(tr("Not available here: {reason}.").format(reason=reason), reason=text[:80])


def _too_soon(text: str) -> FootingError:
    seconds = min(int(text), _LONGEST_WAIT_S) if text.isdecimal() and len(text) < _MOST_DIGITS else 1
    message = tr("The helper accepts this request again in {seconds} s.").format(seconds=seconds)
    return TooSoonError(message, wait_s=seconds)


def _failed(_text: str) -> FootingError:
    hint = tr("For details: journalctl -u pgfooting-helper, or the system's log.")
    return StorageError(tr("The helper failed."), hint=hint)


_ANSWERS: Final[dict[str, Callable[[str], FootingError]]] = {
    "DiskRefused": _refused_disks,
    "BadPlan": _bad_plan,
    "Busy": _busy,
    "TooMany": _busy,
    "TooSoon": _too_soon,
    "Unknown": _unknown,
    "BadUser": _bad_user,
    "Unavailable": _unavailable,
    "Failed": _failed,
}


def not_installed() -> NoHelperError:
    """Return the error for a machine without the helper."""
    message = tr("Spare disks need the helper, which is not installed on this machine.")
    hint = tr("An administrator installs it with: sudo packaging/helper install")
    return NoHelperError(f"{message} {NOTHING_TOUCHED}", hint=hint)


def other_version(found: int, wanted: int) -> NoHelperError:
    """Return the error for a helper of another version."""
    message = tr("The helper on this machine has interface version {found}; this program needs {wanted}.")
    hint = tr("An administrator installs it with: sudo packaging/helper install")
    return NoHelperError(f"{message.format(found=found, wanted=wanted)} {NOTHING_TOUCHED}", hint=hint)


def error_of(name: str, text: str, user: str, *, met: bool = False) -> FootingError:
    """Return the error for an answer of the helper or of the bus.

    Args:
        name: of the D-Bus error; empty if the connection itself failed.
        text: sent with the error.
        user: name of the calling user.
        met: whether this helper has answered before: then any error of the bus means that it is gone and that
            the state of its storage is unknown.
    """
    if name == f"{PREFIX}NotAuthorized":
        return not_authorised(text, user)
    if name.startswith(PREFIX):
        return _ANSWERS.get(name.removeprefix(PREFIX), _failed)(text)
    if met:
        return lost("" if name else text)
    for beginnings, make in _FROM_BUS:
        if name.startswith(beginnings):
            return make()
    return lost(text)


def _foreign() -> NoHelperError:
    message = tr("This program and the helper on this machine have different versions.")
    hint = tr("An administrator installs it with: sudo packaging/helper install")
    return NoHelperError(f"{message} {NOTHING_TOUCHED}", hint=hint)


def lost(reason: str = "") -> HelperLostError:
    """Return the error for a helper that went away or does not answer."""
    message = tr("The helper no longer answers.")
    if reason:
        message = f"{message} ({reason[:200]})"
    hint = tr(
        "When the helper starts again, it removes what it created. The running campaign, “pgfooting disks "
        "--release”, the wizard's disk page or the next boot starts it."
    )
    return HelperLostError(message, hint=hint)


def _not_let() -> NoHelperError:
    message = tr("The system bus does not let you talk to the helper.")
    hint = tr(
        "Its file org.pgfooting.Helper1.conf is missing. Install it with: sudo packaging/helper install"
    )
    return NoHelperError(f"{message} {NOTHING_TOUCHED}", hint=hint)


def _does_not_start() -> NoHelperError:
    message = tr("The helper is installed but does not start.")
    hint = tr("Show its log with journalctl -u pgfooting-helper, its state with sudo packaging/helper status")
    return NoHelperError(f"{message} {NOTHING_TOUCHED}", hint=hint)


def _still_starts() -> HelperStartsError:
    message = tr("The helper did not start in the time that the system bus allows.")
    hint = tr("Try again, it may be running now. If not, see its log: journalctl -u pgfooting-helper")
    return HelperStartsError(f"{message} {NOTHING_TOUCHED}", hint=hint)


def _bus(*words: str) -> tuple[str, ...]:
    return tuple(f"org.freedesktop.DBus.Error.{word}" for word in words)


_FROM_BUS: Final[tuple[tuple[tuple[str, ...], Callable[[], FootingError]], ...]] = (
    (_bus("ServiceUnknown", "NameHasNoOwner"), not_installed),
    (_bus("UnknownMethod", "UnknownInterface", "UnknownObject", "InvalidArgs"), _foreign),
    (_bus("AccessDenied"), _not_let),
    ((*_bus("Spawn."), "org.freedesktop.systemd1."), _does_not_start),
    (_bus("TimedOut"), _still_starts),
    (_bus("NoReply", "Disconnected", "Timeout"), lost),
)
"""Errors of the bus in place of the helper (D-Bus specification, and sd_bus_error(3)), by prefix."""
