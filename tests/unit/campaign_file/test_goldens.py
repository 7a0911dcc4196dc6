"""Campaign files and drafts of before are read as before: texts with the outcome that was recorded for each.

``python -m tests.unit.campaign_file.test_goldens`` records the outcomes again, after a change that was meant.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final

import pytest

from app.campaign_file.reader import parse_campaign
from app.campaign_file.recipes.head import RECIPES
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import Campaign
from app.domain.errors import CampaignError
from app.draft.builder import build
from app.draft.fields.state import DraftParts
from app.draft.from_campaign import parts_of, read_draft_text

_FILE: Final = Path(__file__).parents[2] / "data" / "campaigns" / "goldens.json.gz"
_KNOWN_KEYS: Final = re.compile(r"(?<=is not a known key); allowed: [^.]*")
"""A new key is not recorded again in every message that lists all keys."""


def _recorded() -> dict[str, list[list[str]]]:
    recorded: dict[str, list[list[str]]] = json.loads(gzip.decompress(_FILE.read_bytes()))
    return recorded


def _plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON has
    """Return a value for JSON, without what is None: a new key that no text has changes no digest."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        said = {each.name: getattr(value, each.name) for each in fields(value)}
        return {name: _plain(part) for name, part in said.items() if part is not None}
    if isinstance(value, tuple | list):
        return list(map(_plain, value))
    return value


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True).replace(str(RECIPES), "RECIPES")
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _of_campaign(campaign: Campaign) -> str:
    matrix, said = campaign.matrix, _plain(replace(campaign, matrix=None))
    if matrix is not None:
        names = [[each.name, each.key, [value.name for value in each.values]] for each in matrix.dimensions]
        said["matrix"] = _plain([names, matrix.exclusions, matrix.cells, matrix.left_out])
    return f"{_digest(said)} {_digest(format_campaign(campaign))}"


def of_text(text: str) -> str:
    """Return the outcome of a campaign file: digests of campaign, text and draft, or everything wrong."""
    try:
        campaign = parse_campaign(text, base_directory=RECIPES, source_name="file")
    except CampaignError as error:
        words = _KNOWN_KEYS.sub("", error.message).replace(str(RECIPES), "RECIPES")
        return f"{error.field}\n{words}"
    return f"{_of_campaign(campaign)} {of_draft(parts_of(campaign))}"


def of_draft(parts: DraftParts) -> str:
    """Return the outcome of a draft: the digests of its campaign, or everything that is wrong."""
    built = build(parts, {})
    text = "\n".join(f"{each.path}: {each.message} {each.hint}" for each in built.problems)
    asked = f"{len(built.questions)} questions" if built.questions else ""
    return text or asked or (_of_campaign(built.campaign) if built.campaign else "nothing")


@pytest.mark.parametrize("part", range(8))
def test_texts_as_recorded(part: int) -> None:
    recorded = _recorded()["texts"][part::8]
    assert recorded
    for text, outcome in recorded:
        assert of_text(text) == outcome, text


def test_drafts_as_recorded() -> None:
    recorded = _recorded()["drafts"]
    assert recorded
    for text, outcome in recorded:
        assert of_draft(read_draft_text(text)) == outcome, text


def record(texts: list[str], drafts: list[str]) -> None:
    """Write the outcomes of these texts."""
    recorded = {
        "texts": [[text, of_text(text)] for text in texts],
        "drafts": [[text, of_draft(read_draft_text(text))] for text in drafts],
    }
    _FILE.write_bytes(gzip.compress(json.dumps(recorded, ensure_ascii=False).encode(), 9, mtime=0))


if __name__ == "__main__":
    known = _recorded()
    record([text for text, _ in known["texts"]], [text for text, _ in known["drafts"]])
