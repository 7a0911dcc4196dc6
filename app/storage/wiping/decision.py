"""Whether what lies somewhere may be wiped: pure, from the journal's mark and what was found.

The journal proves what is ours: a signature of the type and with the identifier that it holds, which this
session began, or made, to make or to wipe. Everything else was put there by somebody, and is kept. Whether
the bytes are those that the session saw last is asked besides (`app.storage.system.digests`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from app.domain.messages.message import joined, say
from app.storage.layout.conditions import SignatureIs
from app.storage.layout.steps import Mark
from app.storage.wiping.found import FoundSignature, is_ours


class WipeVerdict(Enum):
    """What is to be done: wipe what is ours, nothing (there is nothing), or keep all of it."""

    WIPE = auto()
    NOTHING = auto()
    KEEP = auto()


@dataclass(frozen=True, slots=True)
class WipeDecision:
    """What is to be done, and why.

    Attributes:
        verdict: what.
        reason: what was found, a clause that follows the name of the device; empty unless it is kept.
    """

    verdict: WipeVerdict
    reason: str = ""


def _keep(reason: str) -> WipeDecision:
    return WipeDecision(WipeVerdict.KEEP, reason)


def judge_content(
    mark: Mark | None, ours: SignatureIs | None, found: Sequence[FoundSignature], *, is_whole: bool
) -> WipeDecision:
    """Decide about what lies in our partition or array.

    Args:
        mark: of its signature; None where making it was never begun.
        ours: the signature that it is to have, its identifier resolved.
        found: every signature that lies there.
        is_whole: whether no part of ours was overwritten.
    """
    own = [each for each in found if mark is not None and is_ours(each, ours)]
    others = [each for each in found if each not in own]
    what = _wanted(ours)
    reason = ""
    if others:
        listed = joined("; ", [each.words() for each in others])
        reason = say("holds-foreign", what=listed)
    elif mark is Mark.MADE and not own:
        reason = say("holds-none", what=what)
    elif mark is Mark.MADE and not is_whole:
        reason = say("holds-part", what=what)
    elif mark in {Mark.WIPED, Mark.RELEASED} and own:
        reason = say("holds-again", what=what)
    return _keep(reason) if reason else WipeDecision(WipeVerdict.WIPE if own else WipeVerdict.NOTHING)


def _wanted(ours: SignatureIs | None) -> str:
    return FoundSignature(ours.type, 0, ours.uuid, ours.label).words() if ours else say("own-signature")
