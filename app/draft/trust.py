"""Agree to actions of a campaign beyond measuring: a check box of the review, for exactly what it shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.analysis.labels import one_line
from app.campaign_file.reader import CampaignFile
from app.campaign_file.trust import Concern, campaign_digest, find_concerns, foreign_programs, outside_scripts
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import Campaign
from app.domain.errors import RefusedError
from app.domain.problem import Problem
from app.domain.text import tr
from app.library.trusted_campaigns import is_trusted, trust

TRUST_FIELD: Final = "trust"


@dataclass(frozen=True, slots=True)
class Agreement:
    """The actions that the user must agree to.

    Attributes:
        concerns: what the campaign may do; empty if it only measures.
        digest: of the campaign as its file would be written, and of its scripts as read.
        known: whether this user agreed to exactly that before.
    """

    concerns: tuple[Concern, ...]
    digest: str
    known: bool

    @property
    def is_open(self) -> bool:
        """Whether the user must agree."""
        return bool(self.concerns) and not self.known


def agreement_of(campaign: Campaign) -> Agreement:
    """Return what the user must agree to; reads all scripts, and the user's data folder."""
    digest = campaign_digest(format_campaign(campaign), campaign)
    return Agreement(find_concerns(campaign), digest, is_trusted(digest))


def keep_agreement(digest: str) -> None:
    """Store an agreement, if there is one: the runner then does not ask again about exactly that.

    Raises:
        UsageError: it cannot be stored.
    """
    if digest:
        trust(digest)


def refuse_programs(file: CampaignFile) -> None:
    """Refuse to open a file in the wizard that names foreign programs, or scripts outside of its folder.

    The wizard asks PostgreSQL's programs about settings before it shows anything, and treats its scripts as
    chosen by the user.

    Raises:
        RefusedError: the user has not agreed to this file.
    """
    folders, scripts = foreign_programs(file.campaign), outside_scripts(file.campaign)
    if not (folders or scripts) or is_trusted(campaign_digest(file.text, file.campaign)):
        return
    if scripts:
        message = tr("This file names scripts outside its folder: {scripts}. They were not opened.")
        hint = tr("To pass them on with the file, copy them next to it and name the copies.")
        raise RefusedError(message.format(scripts=", ".join(map(one_line, scripts))), hint=hint)
    if folders:
        message = tr(
            "This file names PostgreSQL programs that users other than root could have put there: {folders}."
        )
        hint = tr(
            "They were not opened. Remove postgresql.installation from the file, and choose that PostgreSQL "
            "on its page if you trust it."
        )
        raise RefusedError(message.format(folders=", ".join(folders)), hint=hint)


def agreement_problems(agreement: Agreement | None, agreed: str) -> tuple[Problem, ...]:
    """Return why the campaign may not be started yet; `agreed` is the digest that was ticked."""
    if agreement is None or not agreement.is_open or agreed == agreement.digest:
        return ()
    message = tr("This campaign can run programs: read the list, and tick it if you trust it.")
    return (Problem(TRUST_FIELD, message),)


def agreement_text(agreement: Agreement) -> str:
    """Return all texts to agree to, each once, as plain text."""
    blocks: list[str] = []
    shown: set[str] = set()
    for concern in agreement.concerns:
        names = tr("in: {names}").format(names=", ".join(concern.configurations))
        body = tr("(shown above)") if concern.text in shown else concern.text.rstrip("\n")
        shown.add(concern.text)
        indented = "\n".join(f"    {line}" for line in body.split("\n"))
        blocks.append(f"# {concern.what}\n# {names}\n{indented}")
    return "\n\n".join(blocks)
