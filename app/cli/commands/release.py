"""`pgfooting disks --release SERIAL`: show, confirm and release a disk that a session left behind."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Final

from app.cli.terminal.consent import ask_for_tail, is_terminal, name_of, terminal_agent
from app.dbus.helper_errors import NOTHING_TOUCHED
from app.domain.disk_answers import Disk
from app.domain.errors import RefusedError, UsageError
from app.domain.storage_plan.kept_disk import KeptDisk, ReleaseOutcome
from app.domain.storage_plan.words import kept_words, obstacle_words
from app.domain.text import tr
from app.draft.root_answers import inspect_kept, release_kept
from app.storage.layout import disk_target
from app.terminal.plain_text import json_text, plain

ENDINGS: Final[Mapping[ReleaseOutcome, str]] = {
    ReleaseOutcome.WIPED: tr(
        "{disk} is released. A copy of what was wiped is in /var/lib/pgfooting/signatures."
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
        for text in (*_heading(disk), *kept_words(kept)):
            sys.stderr.write(f"{plain(text)}\n")
        if kept.obstacles:
            message = tr("{disk} cannot be released now.").format(disk=disk.path)
            sentence = "\n".join(map(plain, obstacle_words(kept)))
            raise RefusedError(f"{message} {NOTHING_TOUCHED}", hint=sentence)
        if self.confirmed:
            return
        if not self.can_ask():
            message = tr("The release must be confirmed, but there is no terminal to ask on.")
            hint = tr("If it may be released, add: {options}")
            options = f"--erase {disk.identity.typed_name()}"
            raise RefusedError(f"{message} {NOTHING_TOUCHED}", hint=hint.format(options=options))
        ask_for_tail(disk, tr("Type the last {count} characters of {serial} to release it: "), self.ask)


def _heading(disk: Disk) -> tuple[str, ...]:
    model = disk.identity.model.strip() or tr("unknown model")
    line = tr("On {disk}, {model}, serial number {serial}, is:")
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
