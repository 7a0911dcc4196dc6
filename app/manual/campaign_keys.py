"""Every key of campaign files as the manual lists it: from the fields and the examples. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from app.campaign_file.dimensions import DIMENSION_KEYS
from app.campaign_file.fields import CAMPAIGN_FIELDS, PHASE_FIELDS, SECTIONS, TARGETS
from app.campaign_file.kinds import CampaignField
from app.campaign_file.recipes.find import RECIPES
from app.campaign_file.recipes.head import QUICK_FIELDS, RECIPE_FIELDS, SERVER_FIELDS
from app.domain.text import tr
from app.manual.markdown import marked_markdown, plain_markdown

EXAMPLES: Final = ("example.toml", "example-matrix.toml")
"""Recipes that explain keys: the sentence of a key, then what is to be known beside it."""

TABLES: Final[Mapping[str, tuple[CampaignField, ...]]] = {
    "": CAMPAIGN_FIELDS,
    **{f"[target.{target.kind}]": target.fields for target in TARGETS},
    **{f"[{name}]": fields for name, fields in SECTIONS.items()},
    "[[workload.phase]]": PHASE_FIELDS,
    "[recipe]": RECIPE_FIELDS,
    "[recipe.quick]": QUICK_FIELDS,
    "[recipe.server]": SERVER_FIELDS,
}
"""Keys by the table of the file that they stand in; empty for the top."""


def campaign_keys() -> str:
    """Return every table with its keys."""
    top = tr("At the top, before any [table]")
    parts = [
        part
        for table, fields in TABLES.items()
        for part in (
            f"### {plain_markdown(table or top)}",
            "\n".join(f"- **{each.name}**: {marked_markdown(_told(each))}" for each in fields),
        )
    ]
    dimension = "\n".join(
        f"- **{name}**: {marked_markdown(' '.join((sentence, *_remarks(sentence))))}"
        for name, sentence in DIMENSION_KEYS.items()
    )
    return "\n\n".join([*parts, f"### {plain_markdown('[[dimension]]')}", dimension])


def _told(field: CampaignField) -> str:
    allowed = tr("Allowed: {allowed}.").format(allowed=field.kind.allowed)
    return " ".join((field.sentence, *_remarks(field.sentence), allowed))


def _remarks(sentence: str) -> Iterator[str]:
    remark = _remarks_by_sentence().get(sentence, "")
    if remark:
        yield remark


@cache
def _remarks_by_sentence() -> dict[str, str]:
    """Return what stands below the first line of each comment of the examples, by that line."""
    found: dict[str, str] = {}
    for name in EXAMPLES:
        comment: list[str] = []
        for line in (*(RECIPES / name).read_text(encoding="utf-8").split("\n"), ""):
            if line.startswith("# "):
                comment.append(line[2:])
                continue
            if len(comment) > 1:
                found.setdefault(comment[0], " ".join(comment[1:]))
            comment = []
    return found
