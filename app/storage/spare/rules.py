"""The spare-disk rules D01 to D17: one registry, and the answer that they give together.

Pure: snapshot in, answer out. Called by root at the moment of use, and by everyone for showing. Nothing
here can be forced.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from app.domain.disk import DiskIdentity, DiskRefusal, SpareAnswer
from app.domain.inspection_report import InspectionReport
from app.domain.messages.message import say
from app.storage.inspect.snapshot import Policy, Snapshot
from app.storage.spare.rule import RuleVerdict, SpareRule, View, judge
from app.storage.spare.rules_content import CONTENT_RULES, looked_at
from app.storage.spare.rules_disk import DISK_RULES
from app.storage.spare.rules_use import USE_RULES

RULES: Final[tuple[SpareRule, ...]] = tuple(
    sorted((*DISK_RULES, *USE_RULES, *CONTENT_RULES), key=lambda rule: rule.id)
)
"""Every rule, by number."""

_SYSTEM: Final = "D12"


@dataclass(frozen=True, slots=True)
class SpareDecision:
    """What the rules say of one disk.

    Attributes:
        answer: see `SpareAnswer`.
        refusals: every reason against it, by rule.
        questions: what only root can answer.
        users: who uses it, in words.
        looked: what was looked at on it; None where its content was not read.
    """

    answer: SpareAnswer
    refusals: tuple[DiskRefusal, ...]
    questions: tuple[DiskRefusal, ...]
    users: tuple[str, ...]
    looked: InspectionReport | None = None


def decide(
    snapshot: Snapshot, name: str, policy: Policy, *, chosen: DiskIdentity | None = None
) -> SpareDecision:
    """Return the answer for one disk of a snapshot.

    Args:
        snapshot: the machine now.
        name: kernel name of the disk.
        policy: the caller's.
        chosen: the disk that was shown and chosen earlier, to notice another one in its place.

    Raises:
        KeyError: the snapshot has no such disk.
    """
    view = View(snapshot.machine, snapshot.disk(name), policy, chosen)
    verdicts = [judge(rule, view) for rule in RULES]
    refusals = tuple(refusal for verdict in verdicts for refusal in verdict.refusals)
    questions = tuple(question for verdict in verdicts for question in verdict.questions)
    users = tuple(dict.fromkeys(user for verdict in verdicts for user in verdict.users))
    if not refusals and any(verdict.passed_over for verdict in verdicts):
        refusals = (DiskRefusal("D08b", say("content-not-read"), "disk.content"),)
    if refusals:
        return SpareDecision(SpareAnswer.NOT_SPARE, _with_safe_remedies(refusals), (), users)
    answer = SpareAnswer.LOOKS_SPARE if questions else SpareAnswer.SPARE
    return SpareDecision(answer, (), questions, users, looked_at(view))


def _with_safe_remedies(refusals: tuple[DiskRefusal, ...]) -> tuple[DiskRefusal, ...]:
    """Return the refusals without advice that would do harm.

    Nobody is told how to unmount or erase the disk that the system runs from, and nobody is told how to erase
    a disk before nothing uses it any more.
    """
    rules = {refusal.rule for refusal in refusals}
    if _SYSTEM in rules:
        return tuple(each if each.rule == _SYSTEM else replace(each, remedy="") for each in refusals)
    if rules & {rule.id for rule in USE_RULES}:
        erasing = {rule.id for rule in CONTENT_RULES} - {"D11"}
        return tuple(replace(each, remedy="") if each.rule in erasing else each for each in refusals)
    return refusals


def is_in_use(snapshot: Snapshot, name: str, policy: Policy) -> bool:
    """Return whether a rule about use refuses the disk, so that its content is better left unread.

    Raises:
        KeyError: the snapshot has no such disk.
    """
    view = View(snapshot.machine, snapshot.disk(name), policy)
    verdicts: list[RuleVerdict] = [judge(rule, view) for rule in RULES if rule.in_use]
    return any(verdict.refusals for verdict in verdicts)
