"""Campaigns that wait for their turn: their order, what the end of one means for the rest, keeping them.

The list survives whoever shows it, in the user's state folder. What a person confirmed does not: what was
read from there is an offer, and never begins by itself.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import Campaign
from app.domain.errors import ExitStatus, FootingError, UsageError
from app.domain.text import tr
from app.hosts.folders.own_folders import create_state_folder
from app.library.campaign_end import CampaignEnd

FILE_NAME: Final = "queue.json"
MOST: Final = 50
_FORMAT: Final = 1
_LONGEST_BYTES: Final = 16 << 20


class DamagedQueueError(UsageError):
    """What was kept is no queue that this version understands."""

    code = "queue"


def goes_on_after(status: int) -> bool:
    """Whether the next of several campaigns begins after one whose runner ended with this exit status.

    What cannot begin, or has failed, keeps nobody else waiting. One that a person stopped does, and one whose
    runner was killed: whoever did that is asked what becomes of the others.
    """
    return status >= 0 and status != ExitStatus.CANCELLED


def goes_on_after_end(end: CampaignEnd | None) -> bool:
    """Return the same of a campaign that somebody else started, from what its folder says."""
    return end not in {None, CampaignEnd.STOPPED}


@dataclass(frozen=True, slots=True)
class QueuedCampaign:
    """One that waits.

    Attributes:
        key: tells it from every other one.
        name: what people call it.
        text: of its campaign file; empty for one that goes on in its folder.
        folder: of a campaign that goes on; empty for one that begins.
        runs: how many it has, at most; 0 where nobody knows.
        about_s: how long it takes; None where nobody knows.
        load: names of the servers of others that a person agreed to load; never kept.
    """

    key: str
    name: str
    text: str = ""
    folder: str = ""
    runs: int = 0
    about_s: float | None = None
    load: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, campaign: Campaign, about_s: float | None = None, load: tuple[str, ...] = ()
    ) -> QueuedCampaign:
        """Return a campaign that waits; its scripts are read again when its turn comes."""
        text = format_campaign(campaign)
        return cls(secrets.token_hex(8), campaign.name, text, "", campaign.total_runs, about_s, load)

    @classmethod
    def going_on(cls, folder: Path, load: tuple[str, ...] = ()) -> QueuedCampaign:
        """Return a campaign that goes on in its folder."""
        return cls(secrets.token_hex(8), folder.name, "", str(folder), load=load)


@dataclass(slots=True)
class CampaignQueue:
    """The list.

    Attributes:
        waiting: in the order in which they begin.
        confirmed: keys of those that a person put there since the start of the program: only these begin.
        held: why none begins now, a sentence; empty where the next one does as soon as it can.
    """

    waiting: list[QueuedCampaign] = field(default_factory=list)
    confirmed: set[str] = field(default_factory=set)
    held: str = ""

    def add(self, each: QueuedCampaign) -> None:
        """Put one at the end, as a person asked.

        Raises:
            UsageError: there are too many.
        """
        if len(self.waiting) >= MOST:
            message = tr("{most} campaigns wait already; no more are taken.")
            raise UsageError(message.format(most=MOST))
        self.waiting.append(each)
        self.confirmed.add(each.key)

    def offer(self, found: Iterable[QueuedCampaign]) -> None:
        """Put what was kept before what is there; none of it begins before a person says so."""
        known = {each.key for each in self.waiting}
        self.waiting[:0] = [each for each in found if each.key not in known]

    def remove(self, key: str) -> QueuedCampaign | None:
        """Take one out and return it; None where it is not there any more."""
        found = next((each for each in self.waiting if each.key == key), None)
        if found is not None:
            self.waiting.remove(found)
            self.confirmed.discard(key)
        if not self.next_ones():
            self.held = ""
        return found

    def move(self, key: str, by: int) -> None:
        """Let one begin earlier (-1) or later (+1)."""
        place = next((number for number, each in enumerate(self.waiting) if each.key == key), None)
        if place is not None and 0 <= place + by < len(self.waiting):
            self.waiting.insert(place + by, self.waiting.pop(place))

    def next_ones(self) -> list[QueuedCampaign]:
        """Return those that begin by themselves, in order: a person put them there."""
        return [each for each in self.waiting if each.key in self.confirmed]

    def offers(self) -> list[QueuedCampaign]:
        """Return those that wait for a person."""
        return [each for each in self.waiting if each.key not in self.confirmed]

    def take(self) -> QueuedCampaign | None:
        """Take out the one whose turn it is; None where none may begin."""
        ready = [] if self.held else self.next_ones()
        return self.remove(ready[0].key) if ready else None

    def note_end(self, name: str, *, goes_on: bool) -> None:
        """Take that a campaign has ended.

        Args:
            name: of the campaign.
            goes_on: whether the next one begins (`goes_on_after`).
        """
        if not goes_on and self.next_ones():
            sentence = tr("“{name}” was stopped or its runner died: the others wait until you say so.")
            self.held = sentence.format(name=name)

    def go_on(self) -> None:
        """Let the next one begin, as a person asked."""
        self.held = ""


# --- keeping it


def queue_text(waiting: Iterable[QueuedCampaign]) -> str:
    """Return a list as it is kept."""
    kept = [asdict(each) for each in waiting]
    for each in kept:
        del each["load"]
    return json.dumps({"format": _FORMAT, "waiting": kept}, ensure_ascii=False)


def read_queue_text(text: str) -> tuple[QueuedCampaign, ...]:
    """Return the list that a text holds.

    Raises:
        DamagedQueueError: it holds none.
    """
    try:
        document = json.loads(text)
        waiting = {_FORMAT: document["waiting"]}[document["format"]]
        found = tuple(_read(each) for each in waiting[:MOST])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = tr("The campaigns that waited last time cannot be read any more; they are left out.")
        raise DamagedQueueError(message) from error
    return found


def _read(values: dict[str, Any]) -> QueuedCampaign:
    texts = [values.get(name, "") for name in ("key", "name", "text", "folder")]
    runs, about_s = values.get("runs", 0), values.get("about_s")
    is_length = about_s is None or (type(about_s) in {int, float} and about_s >= 0)
    if not all(isinstance(each, str) for each in texts) or type(runs) is not int or not is_length:
        raise TypeError(values)
    key, name, text, folder = texts
    if not key or bool(text) is bool(folder):
        raise ValueError(values)
    return QueuedCampaign(key, name, text, folder, runs, about_s)


def keep_queue(text: str) -> None:
    """Write a list (`queue_text`) in place of the one before; where that cannot be, nothing is kept."""
    with suppress(OSError, FootingError):
        path = create_state_folder() / FILE_NAME
        part = path.with_name(f".{FILE_NAME}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(part, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(part, path)  # noqa: PTH105 - whole or not at all


def read_kept_queue() -> tuple[QueuedCampaign, ...]:
    """Return the list that was kept; an empty one where there is none.

    Raises:
        DamagedQueueError: it cannot be read; it is removed, so that this is told once.
    """
    try:
        path = create_state_folder() / FILE_NAME
        with path.open("rb") as file:
            text = file.read(_LONGEST_BYTES).decode("utf-8", "replace")
    except (OSError, FootingError):
        return ()
    try:
        return read_queue_text(text)
    except DamagedQueueError:
        with suppress(OSError):
            path.unlink()
        raise
