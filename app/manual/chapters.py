"""The chapters of the manual, in their order, with the tables that declarations fill."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from app import COMMAND, TOP
from app.campaign_file.recipes.find import RECIPES
from app.domain.errors import UsageError, did_you_mean
from app.domain.text import tr
from app.manual import tables
from app.manual.campaign_keys import campaign_keys
from app.manual.roff import ManualPage

MANUAL: Final = TOP / "resources" / "manual"


@dataclass(frozen=True, slots=True)
class Chapter:
    """One chapter.

    Attributes:
        id: name of its file without the ending; links lead to the file.
        page: the manual page that is made of it; None for none.
    """

    id: str
    page: ManualPage | None = None

    @property
    def path(self) -> Path:
        """Where it is."""
        return MANUAL / f"{self.id}.md"


CHAPTERS: Final = (
    Chapter("first-hour"),
    Chapter("verdicts"),
    Chapter("method"),
    Chapter("marks"),
    Chapter("filesystems"),
    Chapter("options"),
    Chapter("commands"),
    Chapter("campaign", ManualPage(f"{COMMAND}-campaign", "campaign files of pgFooting")),
    Chapter("run", ManualPage(f"{COMMAND}-run", "run files of pgFooting")),
    Chapter("importing"),
    Chapter("safety"),
    Chapter("talks"),
    Chapter("removing"),
    Chapter("words"),
)

FILLED: Final[Mapping[str, Callable[[], str]]] = {
    "{{campaign-keys}}": campaign_keys,
    "{{costs}}": tables.costs,
    "{{disturbances}}": tables.disturbances,
    "{{figures}}": tables.figures,
    "{{filesystems}}": tables.filesystems,
    "{{levels}}": tables.levels,
    "{{matrix}}": lambda: (
        f"```toml\n{(RECIPES / 'example-matrix.toml').read_text(encoding='utf-8').strip()}\n```"
    ),
    "{{metrics}}": tables.metrics,
    "{{options}}": tables.options,
    "{{recipes}}": tables.recipes,
    "{{schema}}": tables.schema,
    "{{server-steps}}": tables.server_steps_by_recipe,
    "{{words}}": tables.words,
}
"""What stands alone on a line of a chapter, and what is put in its place."""

COMMANDS: Final = "{{commands}}"
"""Likewise; the command line, which knows what is put there, is above this room."""


def find_chapter(name: str) -> Chapter:
    """Return a chapter by its id.

    Raises:
        UsageError: there is none; names those that there are.
    """
    known = [each.id for each in CHAPTERS]
    for each in CHAPTERS:
        if each.id == name:
            return each
    message = tr("There is no chapter “{name}”; there are {known}.")
    raise UsageError(
        message.format(name=plain_name(name), known=", ".join(known)), hint=did_you_mean(name[:80], known)
    )


def plain_name(name: str) -> str:
    """Return what somebody typed, short and without what terminals would obey."""
    return "".join(each for each in name[:40] if each.isprintable())


@cache
def chapter_text(chapter: Chapter, commands: Callable[[], str]) -> str:
    """Return a chapter as Markdown, its tables filled.

    Args:
        chapter: which one.
        commands: returns what the command line takes, as Markdown.
    """
    filled = {**FILLED, COMMANDS: commands}
    lines = chapter.path.read_text(encoding="utf-8").split("\n")
    return "\n".join(filled[line]() if line in filled else line for line in lines)


def chapter_title(chapter: Chapter) -> str:
    """Return the first heading of a chapter, which no table is needed for."""
    with chapter.path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("# ").rstrip("\n")
