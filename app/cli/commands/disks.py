"""`pgfooting disks`: every disk with its answer, its reasons and how to make it spare; and releasing one."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.text import Text

from app import COMMAND
from app.cli.terminal.consent import ask_for_tail, is_terminal, name_of, needs_option, terminal_agent
from app.dbus.helper_errors import NOTHING_TOUCHED
from app.doctor.checks import find_disks, find_disks_with_reasons, is_journaled, is_kept, kept_words
from app.domain.disk import SpareAnswer
from app.domain.disk_answers import Disk, ReadProgress, grouped_reasons, looked_words
from app.domain.errors import ExitStatus, FootingError, RefusedError, UsageError
from app.domain.storage_plan import words
from app.domain.storage_plan.plan import KeptDisk, ReleaseOutcome
from app.domain.text import format_size, tr
from app.draft.disks.table import JOURNALED
from app.draft.machine_answers import inspect_disks, inspect_kept, read_disk, release_kept
from app.helper.base.audit import read_policy
from app.hosts.disk_session import UnmakeOutcome, recover
from app.storage.inspect.snapshot import Policy
from app.storage.layout import disk_target
from app.storage.spare.disks import Listing
from app.storage.spare.inspect import DiskProgress
from app.terminal.plain_text import json_text, plain

# `pgfooting disks --release SERIAL`: show, confirm and release a disk that a session left behind.


ENDINGS: Final[Mapping[ReleaseOutcome, str]] = {
    ReleaseOutcome.WIPED: tr(
        "{disk} is released. A copy of the wiped signatures is in /var/lib/pgfooting/signatures."
    ),
    ReleaseOutcome.DROPPED: tr(
        "pgFooting has forgotten {disk}; nothing on it was wiped. “pgfooting disks” shows its state now."
    ),
}


@dataclass(frozen=True, slots=True)
class ReleaseQuestion:
    """Shows the contents of a disk, and asks for the end of its serial number.

    Attributes:
        confirmed: serial numbers or WWNs given with ``--erase``.
        ask: shows a prompt and returns the typed line; None for the terminal.
        can_ask: whether the user can be asked.
    """

    confirmed: tuple[str, ...] = ()
    ask: Callable[[str], str] | None = None
    can_ask: Callable[[], bool] = is_terminal

    def __call__(self, disk: Disk, kept: KeptDisk) -> None:
        """Return if the release was confirmed.

        Raises:
            UsageError: ``--erase`` names another disk.
            RefusedError: the disk cannot be released now, or the release was not confirmed.
            CancelledError: end of input.
        """
        for name in self.confirmed:
            if not disk_target.find_disks(name, (disk,)):
                message = tr("--erase {name!q}: this is not the disk to be released. Nothing was touched.")
                raise UsageError(message.format(name=plain(name)))
        for text in (*_heading(disk), *words.kept_words(kept)):
            sys.stderr.write(f"{plain(text)}\n")
        if kept.obstacles:
            message = tr("{disk} cannot be released now.").format(disk=disk.path)
            sentence = "\n".join(map(plain, words.obstacle_words(kept)))
            raise RefusedError(f"{message} {NOTHING_TOUCHED}", hint=sentence)
        if self.confirmed:
            return
        if not self.can_ask():
            message = tr(
                "The release must be confirmed, but there is no terminal to ask on. Nothing was done."
            )
            raise needs_option(message, "--erase", [disk.identity.typed_name()])
        ask_for_tail(disk, tr("Type the last {count} characters of {serial} to release it: "), self.ask)


def _heading(disk: Disk) -> tuple[str, ...]:
    model = disk.identity.model.strip() or tr("unknown model")
    line = tr("Content of {disk} ({model}, serial number {serial}):")
    return (line.format(disk=disk.path, model=model, serial=name_of(disk)),)


def release_disk(disk: Disk, question: ReleaseQuestion, *, as_json: bool) -> None:
    """Show a disk in the helper's journal, ask, release it, and print the outcome.

    Raises:
        FootingError: it is not released; carries the reason.
    """
    with terminal_agent():
        kept, digest = inspect_kept(disk)
        question(disk, kept)
        outcome = release_kept(disk, digest)
    if as_json:
        entry = {"disk": disk.as_mapping(), "kept": asdict(kept), "outcome": outcome.value}
        sys.stdout.write(json_text(json.dumps(entry, ensure_ascii=False, indent=1)) + "\n")
        return
    sys.stdout.write(plain(ENDINGS[outcome].format(disk=disk.path)) + "\n")


_UNTRUE: Final = frozenset({"virtio", "xen", "loop"})
"""Buses of disks that do not report their rotation: the kernel's default does not count."""
_SIGNS: Final = {
    SpareAnswer.SPARE: ("✔", "green"),
    SpareAnswer.LOOKS_SPARE: ("?", "yellow"),
    SpareAnswer.NOT_SPARE: ("✘", "red"),
}


def disks_command(arguments: argparse.Namespace) -> int:
    """List the disks; no spare disk is not an error, a disk that could not be released is."""
    if arguments.erase and not arguments.release:
        raise UsageError(tr("--erase confirms a release: name the disk with --release SERIAL."))
    policy = read_policy()  # root's own policy: test devices are listed if an administrator allows them
    if arguments.release:
        question = ReleaseQuestion(tuple(arguments.erase))
        release_disk(_named(_find_disks(policy).disks, arguments.release), question, as_json=arguments.json)
        return ExitStatus.DONE
    status = ExitStatus.DONE
    unanswered: FootingError | None = None
    if arguments.release is not None:
        remains = _release([disk for disk in _find_disks(policy).disks if disk.is_left_over])
        status = ExitStatus.FAILED if remains.sentences else ExitStatus.DONE
        for sentence in remains.sentences:
            sys.stderr.write(f"{COMMAND}: {plain(sentence)}\n")
        listing = _find_disks(policy)
    else:
        with inspection_progress() as progress:
            listing = find_disks_with_reasons(policy, progress)
    if arguments.read:
        read = read_whole(listing.disks, arguments.read)
        listing = Listing((read,), (), as_root=True)
        status = ExitStatus.DONE if read.answer is SpareAnswer.SPARE else ExitStatus.REFUSED
    else:
        listing, unanswered = with_roots_answers(listing)
    if arguments.json:
        described = {
            "as_root": listing.as_root,
            "disks": [disk.as_mapping() for disk in listing.disks],
            "others": listing.others,
        }
        sys.stdout.write(json_text(json.dumps(described, ensure_ascii=False, indent=1)) + "\n")
    else:
        show_disks(listing, Console(), unanswered)
    return status


def _release(disks: Sequence[Disk]) -> UnmakeOutcome:
    """Let root remove pgFooting's remains; return those that it could not remove."""
    left = [disk.identity for disk in disks if disk.answer is not SpareAnswer.SPARE]
    return recover(left, interactive=True) if left else UnmakeOutcome(None, ())


def with_roots_answers(listing: Listing) -> tuple[Listing, FootingError | None]:
    """Return the listing with root's answers about disks that look spare, and the error if there are none."""
    asked = [disk for disk in listing.disks if disk.answer is SpareAnswer.LOOKS_SPARE]
    if not asked:
        return listing, None
    try:
        with terminal_agent():
            results = inspect_disks(asked, lambda _share: None)
    except FootingError as error:
        return listing, error

    def answered(disk: Disk) -> Disk:
        answer = results.get(disk.name)
        if answer is None or disk not in asked:
            return disk
        refusals = tuple(answer.refusals)
        return replace(disk, answer=answer.answer, refusals=refusals, questions=(), looked=answer.looked)

    return replace(listing, disks=tuple(map(answered, listing.disks))), None


def _find_disks(policy: Policy) -> Listing:
    with inspection_progress() as progress:
        return find_disks(policy, progress)


def show_disks(listing: Listing, console: Console, unanswered: FootingError | None = None) -> None:
    """Print the disks, one paragraph each.

    Args:
        listing: of this machine.
        console: destination.
        unanswered: why root did not answer about disks that look spare.
    """
    if not listing.disks:
        _note(tr("pgFooting found no disk on this machine that it could format."), console)
    for disk in listing.disks:
        _show_disk(disk, console)
    if listing.others:
        names = tr("Not listed, because pgFooting does not format such devices: {names}.")
        _note(names.format(names=", ".join(listing.others)), console)
    if any(disk.answer is SpareAnswer.LOOKS_SPARE for disk in listing.disks):
        _note(tr("“Looks spare”: no sign of use was found, but only root can be sure."), console)
        if unanswered is not None:
            for line in (*unanswered.message.splitlines(), *unanswered.hint.splitlines()):
                _note(line, console)


def _note(text: str, console: Console) -> None:
    for line in _folded(text, console, 0):
        console.print(Text(line, style="dim"), soft_wrap=True)


def _show_disk(disk: Disk, console: Console) -> None:
    sign, style = _SIGNS[disk.answer]
    name = f"{disk.name}  {_answer(disk.answer)}"
    lines = _folded(f"{sign} {name}  {', '.join(_description(disk))}", console, 2)
    head = Text(lines[0])
    head.stylize(f"bold {style}", 0, len(sign) + 1 + len(name))
    for line in (head, *map(Text, lines[1:])):
        console.print(line, soft_wrap=True)
    if is_kept(disk) and not is_journaled(disk):  # the remedy of a journaled disk names the command
        console.print(Text(plain(f"  {kept_words(disk)}"), style="red"), soft_wrap=True)
    if disk.answer is SpareAnswer.SPARE and disk.looked is not None:
        for text in _folded(f"  {looked_words(disk.looked)}", console, 2):
            console.print(Text(text, style="dim"), soft_wrap=True)
    for rule, message, evidence, remedies in grouped_reasons(disk.refusals):
        for text in _folded(f"  {rule} {message} {evidence}", console, 6):
            console.print(Text(text, style="red" if rule == JOURNALED else ""), soft_wrap=True)
        for remedy in remedies:  # not folded: a command stays copyable
            console.print(Text(plain(f"      → {remedy}"), style="dim"), soft_wrap=True)


def _folded(text: str, console: Console, indent: int) -> list[str]:
    """Return the lines of a paragraph: broken between words on a terminal, whole in a pipe."""
    if not console.is_terminal:
        return [plain(text)]
    return textwrap.wrap(
        plain(text),
        console.width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    ) or [""]


def _answer(answer: SpareAnswer) -> str:
    return {
        SpareAnswer.SPARE: tr("spare"),
        SpareAnswer.LOOKS_SPARE: tr("looks spare"),
        SpareAnswer.NOT_SPARE: tr("not spare"),
    }[answer]


def _description(disk: Disk) -> Iterator[str]:
    """Yield the parts of a disk's description."""
    yield disk.identity.model.strip() or tr("unknown model")
    yield format_size(disk.identity.size_bytes)
    if disk.bus:
        yield disk.bus
    if disk.rotation_rpm:
        yield tr("{rpm} rpm").format(rpm=disk.rotation_rpm)
    elif disk.rotational is not None and disk.bus not in _UNTRUE:
        yield tr("hard disk") if disk.rotational else tr("non-rotating")
    if disk.identity.serial:
        yield tr("serial number {serial}").format(serial=disk.identity.serial)
    if disk.identity.wwn:
        yield disk.identity.wwn
    if disk.is_test_device:
        yield tr("TEST DEVICE")


@contextmanager
def inspection_progress(console: Console | None = None) -> Iterator[DiskProgress]:
    """Yield a progress callback for inspected places: bars, removed at the end, on a terminal only.

    Several threads may call it, each for disks of its own.
    """
    console = console or Console(stderr=True)
    if not console.is_terminal:  # rich 13.7 prints a line even when disabled
        yield lambda _name, _done, _whole: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, transient=True) as bars:

        def progress(name: str, done: int, whole: int) -> None:
            if name not in tasks:
                words = tr("{name}: parts read").format(name=plain(name))
                tasks[name] = bars.add_task(words, total=whole)
            bars.update(tasks[name], completed=done)

        yield progress


# --- `--read SERIAL`: root reads every byte of one disk, with progress, until Ctrl-C


_LINE_S: Final = 1.0


def read_whole(disks: Sequence[Disk], serial: str) -> Disk:
    """Let root read a whole disk; return the disk with root's answer.

    Args:
        disks: of this machine.
        serial: serial number or WWN of the disk.

    Raises:
        UsageError: no disk or several have it.
        FootingError: root cannot be asked.
    """
    disk = _named(disks, serial)
    with terminal_agent(), _telling(disk) as progress:
        answer = read_disk(disk, progress)
    return replace(disk, answer=answer.answer, refusals=answer.refusals, questions=(), looked=answer.looked)


@contextmanager
def _telling(disk: Disk) -> Iterator[Callable[[ReadProgress], None]]:
    """Yield a progress callback: a bar on a terminal, else a line every second, for programs."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"))
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task(plain(disk.name), total=1.0, words=tr("asking the root helper; Ctrl-C cancels"))
        yield lambda now: bars.update(task, completed=now.fraction, words=now.sentence())


@dataclass(slots=True)
class _Lines:
    reported_s: float = -_LINE_S

    def __call__(self, now: ReadProgress) -> None:
        if now.seconds - self.reported_s >= _LINE_S:
            self.reported_s = now.seconds
            sys.stderr.write(f"{now.sentence()}\n")
            sys.stderr.flush()


def _named(disks: Sequence[Disk], serial: str) -> Disk:
    found = [
        disk for disk in disks if serial in {disk.identity.serial, disk.identity.wwn, disk.identity.key()}
    ]
    if len(found) == 1:
        return found[0]
    if found:
        message = tr("Several disks here have the serial number {serial}; give the WWN instead.").format(
            serial=plain(serial)
        )
    else:
        message = tr("No disk of this machine has the serial number or WWN {name}.").format(
            name=plain(serial)
        )
    raise UsageError(message, hint=tr("“pgfooting disks” lists them."))
