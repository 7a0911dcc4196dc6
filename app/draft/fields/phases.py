"""Convert the phases of a draft from a campaign and back, and present them as a table. Pure.

Names and formats of keys follow from the declarations of campaign files: a new key appears everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.campaign_file.fields import PHASE_FIELDS
from app.campaign_file.kinds import CampaignField
from app.campaign_file.paths import Scripts
from app.campaign_file.problems import InvalidValueError
from app.domain.campaign.configuration import Script, WorkloadPhase
from app.domain.columns import CellKind, Column
from app.domain.text import titled, tr
from app.draft.fields.state import OWN_SCRIPTS, DraftParts, PhaseDraft, ScriptDraft
from app.draft.fields.text import raw_value, write_text

NAME: Final = "name"
_USUAL: Final = WorkloadPhase("")


def phase_part(phase: WorkloadPhase) -> PhaseDraft:
    """Return the fields of a phase."""
    part = PhaseDraft()
    for field in PHASE_FIELDS:
        value = getattr(phase, field.attribute)
        if isinstance(field.kind, Scripts):
            part.scripts = script_parts(value or ())
        elif value != getattr(_USUAL, field.attribute):
            part.texts[field.name] = write_text(field, value)
    return part


def raw_phase(part: PhaseDraft) -> Mapping[str, object]:
    """Return a phase as a table of a campaign file; a text that is not a value stays as typed."""
    raw: dict[str, object] = {}
    for field in PHASE_FIELDS:
        if isinstance(field.kind, Scripts):
            if part.scripts:
                raw[field.name] = raw_scripts(part.scripts)
        elif text := part.texts.get(field.name, "").strip():
            raw[field.name] = _raw(field, text)
    return raw


def _raw(field: CampaignField, text: str) -> object:
    try:
        return raw_value(field.kind, text)
    except InvalidValueError:  # the reader reports its problem and place
        return text


def script_parts(scripts: Iterable[Script]) -> list[ScriptDraft]:
    """Return the fields of scripts."""
    return [
        ScriptDraft(each.builtin.value if each.builtin else "", each.path or "", str(each.weight))
        for each in scripts
    ]


def raw_scripts(scripts: Iterable[ScriptDraft]) -> list[object]:
    """Return scripts as a campaign file lists them."""
    return [_raw_script(each) for each in scripts]


def _raw_script(each: ScriptDraft) -> Mapping[str, object]:
    source = {"builtin": each.builtin} if each.builtin else {"file": each.path.strip()}
    weight = each.weight.strip()
    return {**source, "weight": int(weight) if weight.isascii() and weight.isdigit() else weight}


def new_phase(phases: Sequence[PhaseDraft]) -> PhaseDraft:
    """Return a phase with an unused name."""
    taken = {each.texts.get(NAME, "").strip() for each in phases}
    names = (tr("phase {number}").format(number=number) for number in range(1, len(phases) + 2))
    return PhaseDraft({NAME: next(name for name in names if name not in taken)})


def scripts_words(scripts: Sequence[ScriptDraft]) -> str:
    """Return scripts for display: names, and the last part of paths, with weights in pgbench's syntax."""
    names = [each.builtin or each.path.strip().rsplit("/", 1)[-1] or tr("a file") for each in scripts]
    if len(scripts) < 2:
        return "".join(names)
    return ", ".join(f"{name} @{each.weight}" for name, each in zip(names, scripts, strict=True))


# --- as a table


@dataclass(frozen=True, slots=True)
class PlannedPhase:
    """One phase in the table.

    Attributes:
        part: its fields.
        above: values of the workload that fill empty fields, by key of a phase.
    """

    part: PhaseDraft
    above: Mapping[str, str]

    def text(self, name: str) -> str:
        """Return the effective text of a key."""
        return self.part.texts.get(name, "").strip() or self.above.get(name, "")


def _text_column(name: str) -> Column[PlannedPhase]:
    heading, kind = _HEADINGS[name]
    return Column(name, heading, lambda row: row.text(name), kind)


def _length(row: PlannedPhase) -> str:
    texts = row.part.texts
    if transactions := texts.get("transactions", "").strip():
        return _transactions(transactions)
    return texts.get("duration", "").strip() or row.above["length"]


def _transactions(count: str) -> str:
    return tr("{count} transactions per client").format(count=count)


def _counts(row: PlannedPhase) -> str:
    text = row.part.texts.get("counts", "").strip()
    words = {"": tr("yes"), "true": tr("yes"), "false": tr("no")}
    return words.get(text, text)


def _else(row: PlannedPhase) -> str:
    """Return everything without a column."""
    said = ((field.name, row.part.texts.get(field.name, "").strip()) for field in PHASE_FIELDS)
    return ", ".join(f"{name} {text}" for name, text in said if text and name not in _IN_COLUMNS)


_HEADINGS: Final = {
    NAME: (tr("Phase"), CellKind.WORDS),
    "times": (tr("Times"), CellKind.NUMBER),
    "clients": (titled(tr("clients")), CellKind.NUMBER),
    "rate": (tr("Rate (TPS)"), CellKind.WORDS),
    "maintenance": (tr("Before"), CellKind.WORDS),
    "background": (tr("In parallel"), CellKind.WORDS),
}
_IN_COLUMNS: Final = {*_HEADINGS, "script", "duration", "transactions", "counts"}

PHASE_COLUMNS: Final[tuple[Column[PlannedPhase], ...]] = (
    _text_column(NAME),
    _text_column("times"),
    Column(
        "script",
        tr("Script"),
        lambda row: scripts_words(row.part.scripts) or row.above["script"],
        CellKind.WORDS,
    ),
    _text_column("clients"),
    Column("length", tr("Length"), _length, CellKind.LABEL),
    _text_column("rate"),
    _text_column("maintenance"),
    _text_column("background"),
    Column("counts", tr("Compared"), _counts, CellKind.LABEL),
    Column("else", tr("Other"), _else, CellKind.WORDS),
)
"""Columns of the table of phases: effective values, and all other keys."""


def phase_rows(parts: DraftParts) -> list[PlannedPhase]:
    """Return the rows of the table."""
    values = parts.values
    script, transactions = values["workload.script"], values.get("workload.transactions")
    above = {
        "times": str(_USUAL.times),
        "script": scripts_words(parts.scripts) if script == OWN_SCRIPTS else script,
        "clients": values["workload.clients"].strip(),
        "rate": values["workload.rate"].strip(),
        "length": values["workload.duration"].strip()
        if transactions is None
        else _transactions(transactions.strip()),
    }
    return [PlannedPhase(part, above) for part in parts.phases]


def shown_columns(rows: Sequence[PlannedPhase]) -> tuple[Column[PlannedPhase], ...]:
    """Return the columns of these phases, without empty ones."""
    return tuple(each for each in PHASE_COLUMNS if any(map(each.cell, rows)))
