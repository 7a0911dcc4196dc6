"""Confirm that external servers are put under load; agree to what a campaign does beyond measuring. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from app.analysis.labels import one_line
from app.campaign_file.reader import CampaignFile
from app.campaign_file.trust import Concern, campaign_digest, find_concerns, foreign_programs, outside_scripts
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import Campaign
from app.domain.errors import Problem, RefusedError
from app.domain.text import tr
from app.execution.servers import OpenServer
from app.library.trusted_campaigns import is_trusted, trust
from app.postgres.existing.look import made_sentence

LOAD_FIELD: Final = "load"


@dataclass(frozen=True, slots=True)
class ServerConfirmation:
    """A server that will be put under load.

    Attributes:
        connection: as in the campaign.
        name: to be typed.
        typed: text so far.
        rows: findings, as (property, value).
        sentences: planned actions there, and unknown facts.
    """

    connection: str
    name: str
    typed: str
    rows: tuple[tuple[str, str], ...]
    sentences: tuple[str, ...]

    @property
    def matches(self) -> bool:
        """Whether its name was typed."""
        return self.typed.strip() == self.name


def server_confirmations(
    typed: Mapping[str, str], found: Iterable[tuple[str, OpenServer]]
) -> tuple[ServerConfirmation, ...]:
    """Return every inspected server of the campaign.

    Args:
        typed: texts by connection.
        found: connection and findings.
    """
    return tuple(
        ServerConfirmation(
            connection,
            server.address.name,
            typed.get(connection, ""),
            server.rows,
            (made_sentence(server.address.name), *server.sentences),
        )
        for connection, server in found
    )


def contact_words(servers: Mapping[str, str]) -> str:
    """Return the connections to be made, a line each; texts of campaign files are escaped.

    Args:
        servers: connection strings, and the ssh name of each machine.
    """
    lines = [tr("This campaign connects to:")]
    for connection, ssh in servers.items():
        lines.append(one_line(connection))
        if ssh:
            lines.append(tr("and queries its machine over ssh: {host}").format(host=one_line(ssh)))
    lines.append(
        tr(
            "If a server asks for a password, libpq sends PGPASSWORD (to any server) or the matching entry "
            "of ~/.pgpass."
        )
    )
    return "\n".join(lines)


def contact_problems(servers: Mapping[str, str]) -> tuple[Problem, ...]:
    """Return why nothing was inspected yet; `servers` as in `contact_words`."""
    if not servers:
        return ()
    return (Problem(LOAD_FIELD, tr("Allow pgFooting to look at the server; it has not connected yet.")),)


def load_problems(confirmations: Iterable[ServerConfirmation]) -> tuple[Problem, ...]:
    """Return why no server may be put under load yet."""
    for each in confirmations:
        if not each.matches:
            message = tr("Type the server's name, {name}, to confirm putting it under load.")
            return (Problem(LOAD_FIELD, message.format(name=each.name)),)
    return ()


def agreed_names(confirmations: Iterable[ServerConfirmation]) -> tuple[str, ...]:
    """Return the typed names: load may start on these servers and no others."""
    return tuple(dict.fromkeys(each.name for each in confirmations if each.matches))


# Agree to actions of a campaign beyond measuring: a check box of the review, for exactly what it shows.


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
        hint = tr("To share the file with its scripts, copy them into its folder and name the copies in it.")
        raise RefusedError(message.format(scripts=", ".join(map(one_line, scripts))), hint=hint)
    if folders:
        message = tr(
            "This file names PostgreSQL programs that users other than root could have put there: {folders}."
        )
        hint = tr(
            "They were not opened. If you trust them, remove postgresql.installation "
            "from the file and choose that folder on the PostgreSQL page."
        )
        raise RefusedError(message.format(folders=", ".join(folders)), hint=hint)


def agreement_problems(agreement: Agreement | None, agreed: str) -> tuple[Problem, ...]:
    """Return why the campaign may not be started yet; `agreed` is the digest that was ticked."""
    if agreement is None or not agreement.is_open or agreed == agreement.digest:
        return ()
    message = tr("This campaign can run programs. Read the list, then tick the box if you trust it.")
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
