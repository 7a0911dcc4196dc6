"""What a campaign file may do beyond measuring - run programs, be a superuser - and whether a person agreed.

A campaign file may be somebody else's. What is found here is shown before anything starts; the runner asks
at the moment of use, of the very texts that it has read and will execute. A campaign that a person agreed
to in the wizard is known by its digest (`app.library.trusted_campaigns`).
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.campaign_file.reader import CampaignFile
from app.domain.campaign.configuration import Campaign, Script
from app.domain.errors import RefusedError
from app.domain.text import tr
from app.postgres.harmless_settings import is_harmless
from app.postgres.installations.installation import PROGRAMS
from app.postgres.pgbench.script_wishes import ScriptDemand, find_programs, find_superuser

_MOST_LINES: Final = 8


@dataclass(frozen=True, slots=True)
class Concern:
    """Something of a campaign that a person has to agree to.

    Attributes:
        what: a sentence.
        text: the setting as a line of postgresql.conf, the whole script, or the folder of programs.
        configurations: names of those that have it.
    """

    what: str
    text: str
    configurations: tuple[str, ...]


Ask = Callable[[tuple[Concern, ...]], None]
"""Returns where a person agreed; raises a `RefusedError` where not."""


def refuse_concerns(_concerns: tuple[Concern, ...]) -> None:
    """Agree to nothing: what a caller gets who has no way to ask.

    Raises:
        RefusedError: always.
    """
    message = tr("Nobody agreed to what this campaign file may do; nothing was started.")
    raise RefusedError(message)


def check_trust(file: CampaignFile, ask: Ask, *, is_trusted: Callable[[str], bool]) -> None:
    """Make sure that a person agreed to what a campaign may do.

    Args:
        file: as read; exactly what will be executed.
        ask: asks a person.
        is_trusted: whether a person agreed to the campaign of this digest before.

    Raises:
        RefusedError: nobody agreed.
    """
    concerns = find_concerns(file.campaign)
    if concerns and not is_trusted(campaign_digest(file.text, file.campaign)):
        ask(concerns)


def campaign_digest(text: str, campaign: Campaign) -> str:
    """Return the SHA-256 of a campaign file and of the scripts that it names, in hexadecimal.

    Args:
        text: of the file.
        campaign: that it describes, with the scripts as they were read.
    """
    digest = hashlib.sha256(b"pgFooting campaign and scripts, 1")
    scripts = (script.text for each in campaign.configurations for script in _files(each.workload.scripts))
    for part in (text, *scripts):
        content = part.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "big"))
        digest.update(content)
    return digest.hexdigest()


def find_concerns(campaign: Campaign) -> tuple[Concern, ...]:
    """Return what a person has to agree to, each once; nothing for a campaign that only measures."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in campaign.configurations:
        parts = (
            *_of_installation(each.postgresql.installation),
            *_of_settings(each.postgresql.settings),
            *(concern for script in _files(each.workload.scripts) for concern in _of_script(script)),
        )
        for concern in dict.fromkeys(parts):
            found.setdefault(concern, []).append(each.name)
    return tuple(Concern(what, text, tuple(names)) for (what, text), names in found.items())


def _files(scripts: tuple[Script, ...]) -> Iterator[Script]:
    return (script for script in scripts if script.builtin is None)


def _of_settings(settings: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    sentence = tr(
        "The server setting {name} is none that is known to be harmless: such settings can make the server "
        "run programs, load libraries or write files elsewhere."
    )
    for name, value in settings:
        if not is_harmless(name):
            yield sentence.format(name=name), f"{name} = '{value}'"


def _of_script(script: Script) -> Iterator[tuple[str, str]]:
    programs, superuser = find_programs(script.text), find_superuser(script.text)
    if programs:
        sentence = tr("The script {path} runs programs (\\shell, \\setshell), in {lines}.")
        yield sentence.format(path=script.path, lines=_lines(programs)), script.text
    if superuser:
        sentence = tr(
            "The script {path} wants a superuser's rights, in {lines}. pgbench would connect as a superuser, "
            "whose SQL can run programs as the server's user."
        )
        yield sentence.format(path=script.path, lines=_lines(superuser)), script.text


def _lines(wishes: tuple[ScriptDemand, ...]) -> str:
    numbers = ", ".join(str(wish.line) for wish in wishes[:_MOST_LINES])
    more = (
        tr(" and {count} more").format(count=len(wishes) - _MOST_LINES) if len(wishes) > _MOST_LINES else ""
    )
    word = tr("line {numbers}{more}") if len(wishes) == 1 else tr("lines {numbers}{more}")
    return word.format(numbers=numbers, more=more)


def foreign_programs(campaign: Campaign) -> tuple[str, ...]:
    """Return the folders of programs that a campaign names and that others than root could have filled."""
    named = dict.fromkeys(each.postgresql.installation for each in campaign.configurations)
    return tuple(choice for choice in named if Path(choice).is_absolute() and not _is_systems(choice))


def _of_installation(choice: str) -> Iterator[tuple[str, str]]:
    if Path(choice).is_absolute() and not _is_systems(choice):
        sentence = tr(
            "The programs of PostgreSQL in this folder are run; others than root could have put them there."
        )
        yield sentence, choice


def _is_systems(folder: str) -> bool:
    """Return whether nobody but root can have put programs there, or there are none."""
    named = [f"{prefix}/{program}" for prefix in (folder, f"{folder}/bin") for program in PROGRAMS]
    # As it is named and where it really is: whoever owns a link on the way decides what is run.
    there = [path for path in named if os.path.exists(path)]  # noqa: PTH110 - Path.exists raises for long names
    found = [Path(path) for each in there for path in (each, os.path.realpath(each))]
    return all(_is_roots(part) for path in found for part in (path, *path.parents))


def _is_roots(path: Path) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return found.st_uid == 0 and not stat.S_IMODE(found.st_mode) & 0o022
