"""Questions before a campaign: may disks be erased, may servers be loaded, may the campaign run programs.

Disks are confirmed by the last four characters of each serial number, or ``--erase``; an existing server by
its name, or ``--load``; programs by a yes, or ``--trust``. Everything goes to standard error, to leave
standard output to ``--progress``.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from app.campaign_file.trust import Concern
from app.domain.disk_answers import Disk
from app.domain.errors import CancelledError, RefusedError, UsageError
from app.domain.quoting import shell_option
from app.domain.text import format_size, tr, trn
from app.draft.disks.table import looking_at
from app.execution.disks.session import ErasePrompt
from app.execution.servers import Contact, OpenServer
from app.postgres.existing.look import made_sentence
from app.process.account import SEARCH_PATH
from app.storage.layout.disk_target import find_disks
from app.terminal.plain_text import plain

# Ask for the password in the terminal if no desktop does: run polkit's own program while needed.
#
# Source: pkttyagent(1). ``--fallback`` does not replace an agent that answers already, ``--notify-fd`` is
# closed when it is registered. It needs this terminal, and therefore stays in this process's session and
# group. polkit forgets a fallback agent if the user has no session of logind (seen with 122), as in a
# container or below su: there can be no other agent, and it is registered as the agent.


PROGRAM: Final = "pkttyagent"
SESSIONS: Final = Path("/run/systemd/users")
"""Contains a file for each user with a session (sd_uid_get_state(3))."""
_READY_S: Final = 15.0
_END_S: Final = 2.0


@contextmanager
def terminal_agent() -> Iterator[None]:
    """Let polkit ask on this terminal while the block lasts; no effect without a terminal or the program.

    Root needs no password.
    """
    program = shutil.which(PROGRAM, path=SEARCH_PATH)
    if os.geteuid() == 0 or program is None or not is_terminal():
        yield
        return
    reading, write_end = os.pipe()
    argv = [program, "--process", str(os.getpid()), "--notify-fd", str(write_end)]
    argv += ["--fallback"] if (SESSIONS / str(os.getuid())).exists() else []
    try:
        agent = subprocess.Popen(argv, pass_fds=(write_end,))  # noqa: S603 - a fixed program and numbers
    finally:
        os.close(write_end)
    try:
        select.select(
            [reading], [], [], _READY_S
        )  # if it is not ready in time, polkit reports that there is no agent
        os.close(reading)
        yield
    finally:
        agent.terminate()
        with suppress(subprocess.TimeoutExpired):
            agent.wait(_END_S)
        if agent.poll() is None:
            agent.kill()
            agent.wait()


def is_terminal() -> bool:
    """Return whether the user can be asked here."""
    with suppress(OSError, ValueError, AttributeError):
        return sys.stdin.isatty() and sys.stderr.isatty()
    return False


_ATTEMPTS: Final = 3

Ask = Callable[[str], str]
"""Shows a prompt and returns the typed line."""


def _line(text: str, style: str = "") -> None:
    console = Console(stderr=True)
    console.print(plain(text), style=style, soft_wrap=True, markup=False, highlight=False)


@dataclass(frozen=True, slots=True)
class ErasureQuestion:
    """Asks on the terminal for confirmations missing from the command line.

    Attributes:
        confirmed: serial numbers or WWNs given with ``--erase``.
        ask: shows a prompt and returns the typed line; None for the terminal.
        can_ask: whether the user can be asked.
    """

    confirmed: tuple[str, ...] = ()
    ask: Ask | None = None
    can_ask: Callable[[], bool] = is_terminal

    def __call__(self, erasure: ErasePrompt) -> None:
        """Return if every disk was confirmed.

        Raises:
            UsageError: ``--erase`` does not name a disk of the campaign.
            RefusedError: not confirmed, or wrongly; nothing was touched.
            CancelledError: end of input.
        """
        open_ones = self._not_confirmed(erasure.disks)
        if open_ones and not self.can_ask():
            message = tr("This campaign erases disks, but there is no terminal to ask on. Nothing was done.")
            raise needs_option(message, "--erase", map(name_of, open_ones))
        _show(erasure)
        for disk in open_ones:
            ask_for_tail(disk, tr("Type the last {count} characters of {serial} to erase it: "), self.ask)

    def _not_confirmed(self, disks: Sequence[Disk]) -> list[Disk]:
        confirmed: set[str] = set()
        for name in self.confirmed:
            found = find_disks(name, disks)
            if len(found) != 1:
                message = tr("{option} {name}: the campaign uses nothing with that name. Nothing was done.")
                raise UsageError(message.format(option="--erase", name=plain(name)), hint=_names(disks))
            confirmed.add(found[0].identity.device_number)
        return [disk for disk in disks if disk.identity.device_number not in confirmed]


def ask_for_tail(disk: Disk, prompt: str, ask: Ask | None = None) -> None:
    """Ask for the last characters of a serial number.

    Args:
        disk: has the serial number.
        prompt: names what is confirmed; with placeholders for their number and the serial number.
        ask: shows a prompt and returns the typed line; None for the terminal.

    Raises:
        RefusedError: not confirmed.
        CancelledError: end of input.
    """
    tail = disk.identity.tail()
    serial = plain(name_of(disk))
    if not _is_typed(tail, prompt.format(count=len(tail), serial=serial), ask):
        raise _not_confirmed(serial)


def _not_confirmed(name: str) -> RefusedError:
    return RefusedError(tr("{name} was not confirmed. Nothing was done.").format(name=name))


def _is_typed(wanted: str, prompt: str, ask: Ask | None) -> bool:
    """Return whether the user types a text, which differs from nothing, within three attempts.

    Raises:
        CancelledError: end of input.
    """
    for _ in range(_ATTEMPTS):
        typed = _typed(prompt, ask)
        if not typed or typed == wanted:
            return bool(typed)
    return False


def _typed(prompt: str, ask: Ask | None) -> str:
    try:
        return (ask or _ask_terminal)(prompt).strip()
    except EOFError as error:
        raise CancelledError(tr("Stopped. Nothing was done.")) from error


def _ask_terminal(prompt: str) -> str:
    sys.stderr.write(prompt)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line


def name_of(disk: Disk) -> str:
    """Return a disk's name for users: its serial number, else its WWN."""
    return disk.identity.serial.strip() or disk.identity.key()


def _names(disks: Sequence[Disk]) -> str:
    return tr("Known: {names}.").format(names=", ".join(plain(name_of(disk)) for disk in disks))


def needs_option(message: str, option: str, names: Iterable[str]) -> RefusedError:
    """Return the error for names that must be confirmed, by an option if there is no terminal."""
    options = " ".join(shell_option(option, name) for name in dict.fromkeys(names))
    return RefusedError(message, hint=tr("To confirm it, add: {options}").format(options=options))


def _show(erasure: ErasePrompt) -> None:
    _line(tr("These disks will be erased:"), "bold red")
    for disk in erasure.disks:
        model = disk.identity.model.strip() or tr("unknown model")
        words = [model, name_of(disk), format_size(disk.identity.size_bytes), disk.name]
        words += [tr("TEST DEVICE")] if disk.is_test_device else []
        _line("  " + "  ".join(words))
        _line(f"    {looking_at(disk)}")
    for names, text in erasure.texts.items():
        _line(tr("Root's commands for {names}:").format(names=names), "bold")
        for each in text:
            _line(f"  {each}", "dim")


# --- May an existing server be loaded


@dataclass(frozen=True, slots=True)
class LoadQuestion:
    """Shows a server's description, and asks for its name unless the command line has given it.

    Attributes:
        confirmed: names given with ``--load``.
        ask: shows a prompt and returns the typed line; None for the terminal.
        can_ask: whether the user can be asked.
    """

    confirmed: tuple[str, ...] = ()
    ask: Ask | None = None
    can_ask: Callable[[], bool] = is_terminal

    def __call__(self, servers: Sequence[OpenServer]) -> None:
        """Return if every server was confirmed.

        Raises:
            UsageError: ``--load`` does not name a server of the campaign.
            RefusedError: not confirmed, or wrongly; nothing was done there.
            CancelledError: end of input.
        """
        for server in servers:
            _show_server(server)
        self._check_names({server.address.name for server in servers})
        open_ones = [server for server in servers if server.address.name not in self.confirmed]
        if open_ones and not self.can_ask():
            raise _needs_load(server.address.name for server in open_ones)
        for name in dict.fromkeys(server.address.name for server in open_ones):
            self._ask_for(name)

    def contact(self, contacts: Sequence[Contact]) -> None:
        """Return if pgFooting may connect to the campaign's servers.

        A server from the user's own service file or environment needs no question; ``--load`` is an answer.

        Raises:
            UsageError: ``--load`` does not name a server of the campaign.
            RefusedError: the user did not agree; nothing was sent there.
            CancelledError: end of input.
        """
        if all(each.name for each in contacts):
            self._check_names({each.name for each in contacts})
        open_ones = [each for each in contacts if each.name and each.name not in self.confirmed]
        if not open_ones:
            return
        if not self.can_ask():
            raise _needs_load(each.name for each in open_ones)
        _show_contacts(open_ones)
        _ask_for_yes(tr("Type yes to connect: "), self.ask)

    def _check_names(self, names: Set[str]) -> None:
        for name in self.confirmed:
            if name not in names:
                message = tr("{option} {name}: the campaign uses nothing with that name. Nothing was done.")
                hint = tr("Known: {names}.").format(names=", ".join(map(plain, sorted(names))))
                raise UsageError(message.format(option="--load", name=plain(name)), hint=hint)

    def _ask_for(self, name: str) -> None:
        prompt = tr("Type its name, {name}, to put it under load: ").format(name=plain(name))
        if not _is_typed(name, prompt, self.ask):
            raise _not_confirmed(plain(name))


def _needs_load(names: Iterable[str]) -> RefusedError:
    message = tr("This campaign puts load on a server, but there is no terminal to ask on. Nothing was done.")
    return needs_option(message, "--load", names)


def _ask_for_yes(prompt: str, ask: Ask | None) -> None:
    if _typed(prompt, ask).lower() != _YES:
        raise RefusedError(tr("Stopped. Nothing was done."))


def _show_contacts(contacts: Sequence[Contact]) -> None:
    _line(tr("This campaign connects to:"))
    for each in contacts:
        _line(f"  {each.name}  ({each.connection})")
        if each.ssh:
            _line("  " + tr("and queries its machine over ssh: {host}").format(host=each.ssh))
    _line(
        tr(
            "If a server asks for a password, libpq sends PGPASSWORD (to any server) or the matching entry "
            "of ~/.pgpass."
        )
    )


def _show_server(server: OpenServer) -> None:
    _line(tr("This server will be loaded:"), "bold red")
    for what, value in server.rows:
        _line(f"  {what}: {value}")
    _line(made_sentence(server.address.name))
    for sentence in server.sentences:
        _line(f"  {sentence}", "dim")


# --- May a campaign file do more than measure


_YES: Final = "yes"
_MOST_LINES: Final = 200
"""Limit for one text; the user is asked to read a longer one in its file."""

_LONGEST_LINE: Final = 2000


@dataclass(frozen=True, slots=True)
class TrustPrompt:
    """Shows what a campaign may do, and asks unless the command line has agreed.

    Attributes:
        trusted: ``--trust`` was given.
        ask: shows a prompt and returns the typed line; None for the terminal.
        can_ask: whether the user can be asked.
    """

    trusted: bool = False
    ask: Ask | None = None
    can_ask: Callable[[], bool] = is_terminal

    def __call__(self, concerns: tuple[Concern, ...]) -> None:
        """Return if the user agreed.

        Raises:
            RefusedError: the user did not agree; nothing was started.
            CancelledError: end of input.
        """
        _show_concerns(concerns)
        if self.trusted:
            return
        if not self.can_ask():
            message = tr(
                "This campaign file can do more than measure and needs your consent. Nothing was started."
            )
            hint = tr(
                "If you trust the permissions listed above, add --trust. In the window, open the review "
                "again, because something has changed since you ticked it."
            )
            raise RefusedError(message, hint=hint)
        _ask_for_yes(tr("Type yes to let it do that: "), self.ask)


def _show_concerns(concerns: tuple[Concern, ...]) -> None:
    _line(tr("This campaign file can do more than measure:"), "bold red")
    shown: set[str] = set()
    for concern in concerns:
        _line(concern.what, "bold")
        _line(tr("in: {names}").format(names=", ".join(concern.configurations)), "dim")
        if concern.text in shown:
            _line("  " + tr("(shown above)"))
            continue
        shown.add(concern.text)
        lines = concern.text.splitlines()
        for number, each in enumerate(lines[:_MOST_LINES], start=1):
            _line(f"  {number:4}  {each[:_LONGEST_LINE]}")
            if len(each) > _LONGEST_LINE:
                count = len(each) - _LONGEST_LINE
                more = trn(
                    "  … and {count} more character in this line: read the whole file before you agree.",
                    "  … and {count} more characters in this line: read the whole file before you agree.",
                    count,
                )
                _line(more.format(count=count), "bold red")
        if len(lines) > _MOST_LINES:
            count = len(lines) - _MOST_LINES
            more = trn(
                "  … and {count} more line: read the whole file before you agree.",
                "  … and {count} more lines: read the whole file before you agree.",
                count,
            )
            _line(more.format(count=count), "bold red")
