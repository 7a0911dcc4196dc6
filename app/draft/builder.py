"""Build a campaign from the fields of a draft, using the reader of campaign files on the typed texts.

Whatever that reader refuses becomes a problem of the page with the field. Two things differ from a file:
texts become values by the kind of their field, and script files are read in the background by answering a
question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

from typing_extensions import override

from app.campaign_file.fields import MOST_CONFIGURATIONS, MOST_RUNS, SECTIONS
from app.campaign_file.kinds import CampaignField, Key
from app.campaign_file.matrix import ReadMatrix
from app.campaign_file.partial import (
    TABLES,
    TARGET,
    Given,
    Partial,
    alternative_of,
    nested,
    partial_of_target,
)
from app.campaign_file.paths import Scripts
from app.campaign_file.phases import Phases
from app.campaign_file.problems import InvalidValueError, KeyPath, Problems
from app.campaign_file.reader import (
    CampaignReader,
    build_campaign,
    build_configuration,
    build_postgresql,
    build_workload,
)
from app.campaign_file.rules import RULES, Stated
from app.domain.campaign.configuration import Campaign, Configuration, PostgresChoice, Target, Workload
from app.domain.campaign.matrix import Change, RunOrder
from app.domain.errors import Problem
from app.domain.text import quoted, tr
from app.draft.disks.target import read_target
from app.draft.fields.phases import raw_phase, raw_scripts
from app.draft.fields.state import (
    FIELDS,
    OPTIONAL,
    OWN_SCRIPTS,
    PHASES,
    SCRIPT,
    SETTINGS,
    TYPED_OF_CAMPAIGN,
    ConfigurationDraft,
    DraftParts,
    Place,
    automatic_name,
)
from app.draft.fields.text import raw_value
from app.draft.machine_answers import MachineAnswer, MachineQuestion, ScriptsQuestion
from app.draft.matrix.reading import DraftMatrix, read_draft_matrix

_LAST: Final = frozenset({"repeats", "name"})
"""Listed after the problems of the PostgreSQL and workload pages."""
_ENTRY: Final = re.compile(r"\[(\d+)\]")
"""An index in a typed list."""


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """The result of building a draft.

    Attributes:
        campaign: None if something is wrong or not known yet.
        problems: of the fields; without those that only the machine knows.
        questions: their answers are needed for a campaign.
        postgresql: from the second page; None if something on it is wrong.
        workload: from the third page; None if something on it is wrong.
        targets: of each chosen configuration, by its index among those chosen.
        configurations: the valid ones, by the same index.
        matrix: from the dimensions; None if there are none, or something is wrong.
    """

    campaign: Campaign | None
    problems: tuple[Problem, ...]
    questions: tuple[MachineQuestion, ...]
    postgresql: PostgresChoice | None
    workload: Workload | None
    targets: Mapping[int, Target]
    configurations: Mapping[int, Configuration]
    matrix: ReadMatrix | None = None


def build(parts: DraftParts, answers: Mapping[MachineQuestion, MachineAnswer]) -> ValidationResult:
    """Return the campaign of a draft, or all problems of its fields."""
    reader = _DraftReader(Path("/"), Problems(most=MOST_RUNS), parts, answers)
    chosen = parts.chosen()
    read = reader.read_campaign(_document(parts))
    if len(chosen) > MOST_CONFIGURATIONS:
        sentence = tr("{count} configurations are too many; at most {most} are allowed.")
        reader.add(KeyPath("configuration"), sentence.format(count=len(chosen), most=MOST_CONFIGURATIONS))
    targets = {
        number: layer.target.value
        for number, (_, layer) in enumerate(read.configurations)
        if layer.target is not None and not layer.target.refused
    }
    made = {number: build_configuration(*each) for number, each in enumerate(read.configurations)}
    configurations = {number: each for number, each in made.items() if each is not None}
    problems = tuple(sorted(reader.problems.found, key=lambda problem: problem.path in _LAST))
    campaign, matrix = None, None
    if configurations and not problems and not reader.questions:
        if parts.dimensions:
            matrix = read_draft_matrix(parts, tuple(configurations.values()), read.top)
            problems = matrix.problems
            campaign = _of_matrix(parts, read.top, matrix)
        else:
            campaign = build_campaign(read.top, tuple(configurations.values()))
    return ValidationResult(
        campaign,
        problems,
        tuple(dict.fromkeys(reader.questions)),
        build_postgresql(read.shared.given),
        build_workload(read.shared.given),
        targets,
        configurations,
        matrix.read if matrix else None,
    )


def _of_matrix(parts: DraftParts, top: Partial, matrix: DraftMatrix) -> Campaign | None:
    """Return the campaign of a matrix, named after its cells unless it has a name."""
    if matrix.read is None or matrix.problems:
        return None
    made = [build_configuration(*each) for each in matrix.read.configurations]
    found = tuple(each for each in made if each is not None)
    if len(found) < len(made):
        return None
    campaign = build_campaign(top, found, matrix.read.matrix)
    if parts.values["name"].strip():
        return campaign
    return replace(campaign, name=automatic_name([each.name for each in found]))


# --- the fields as a document, as in TOML, except for texts that are not values yet


def _document(parts: DraftParts) -> Mapping[str, Any]:
    chosen = parts.chosen()
    names = [each.name.strip() for each in chosen]
    printable = [name for name in names if name and name.isprintable()]
    document: dict[str, Any] = {
        "name": automatic_name(printable),
        **{name: text for name in TYPED_OF_CAMPAIGN if (text := parts.values[name].strip())},
        "seeds": list(parts.seeds),
        **nested(_changes(_of_pages(parts))),
    }
    if parts.order_seed is not None and parts.values["order"] == RunOrder.RANDOM:
        document["order_seed"] = parts.order_seed
    if parts.question:
        document["question"] = parts.question
    for key, values in (("remarks", parts.remarks), ("figures", parts.figures)):
        if values:
            document[key] = list(values)
    if chosen:
        entries = zip(names, chosen, strict=True)
        document["configuration"] = [
            {"name": name, "target": each, **nested(_changes(each.texts))} for name, each in entries
        ][:MOST_CONFIGURATIONS]
    return document


def _of_pages(parts: DraftParts) -> Mapping[str, Any]:
    """Return the pages by key."""
    values: dict[str, Any] = dict(parts.values)
    if values[SCRIPT] == OWN_SCRIPTS:
        values[SCRIPT] = raw_scripts(parts.scripts)
    if parts.phases:
        values[PHASES] = [raw_phase(each) for each in parts.phases]
    return values


def _changes(texts: Mapping[str, Any]) -> Iterable[Change]:
    """Return the keys of PostgreSQL and the workload; of two alternative ones the last counts."""
    kept: dict[Key, Any] = {}
    for dotted, text in texts.items():
        key = tuple(dotted.split("."))
        if key[0] in SECTIONS and (dotted != SETTINGS or text.strip()):
            kept.pop(alternative_of(key) or (), None)
            kept[key] = text
    return (Change(*item) for item in kept.items())


def names_files(raw: object) -> bool:
    """Whether a value of scripts or phases names a file to be read."""
    if isinstance(raw, list):
        return any(map(names_files, raw))
    return isinstance(raw, dict) and ("file" in raw or names_files(raw.get("script")))


@dataclass(frozen=True, slots=True)
class _DraftReader(CampaignReader):
    """Read the typed fields.

    Attributes:
        parts: the draft.
        answers: of the machine, so far.
        questions: their answers are needed for a campaign.
    """

    parts: DraftParts
    answers: Mapping[MachineQuestion, MachineAnswer]
    questions: list[MachineQuestion] = field(default_factory=list)

    def add(self, place: KeyPath, sentence: str, *, about: str = "") -> None:
        """Add a problem; `about` is a name at the start of its sentence."""
        self.problems.add(place, f"{about}: {sentence}" if about else sentence[:1].upper() + sentence[1:])

    @override
    def refuse(self, place: KeyPath, problems: Iterable[Problem]) -> None:
        for problem in problems:
            if place.path == PHASES:  # each of its keys has a field
                self.add(place.within(problem.path), problem.message)
            else:
                entry = _ENTRY.match(problem.path)
                about = tr("Entry {number}").format(number=entry[1]) if entry else problem.path
                self.add(place, problem.message, about=about.removeprefix("."))

    @override
    def read_value(self, field: CampaignField, raw: object, place: KeyPath) -> Given:
        if isinstance(raw, str):
            if not raw.strip() and field in OPTIONAL:
                return Given(None, place)
            try:
                raw = raw_value(field.kind, raw)
            except InvalidValueError as error:
                self.refuse(place, error.problems)
                return Given(None, place, refused=True)
        if isinstance(field.kind, Scripts | Phases) and names_files(raw):
            return self._read_scripts(field, raw, place)
        read = CampaignReader.read_value(self, field, raw, place)
        return replace(read, refused=False) if field in OPTIONAL else read  # the rest stays valid

    def _read_scripts(self, field: CampaignField, raw: object, place: KeyPath) -> Given:
        """Return scripts, or phases with some, with file contents from the answered question."""
        try:
            question = ScriptsQuestion(json.dumps(raw), f"workload.{field.name}")
        except TypeError:  # TOML has dates, which no key here accepts
            return CampaignReader.read_value(self, field, None, place)
        known = self.answers.get(question)
        if known is None:
            self.questions.append(question)
        elif known.error is not None:
            self.add(place, known.error.message)
        else:
            return Given(known.result, place)
        return Given(None, place, refused=True)

    @override
    def read_target(self, entry: object, place: KeyPath) -> Partial:
        each = cast("ConfigurationDraft", entry)
        if each.place is Place.DISKS:
            return self._read_disks(each, place)
        names = (field.name for field in TABLES[TARGET, each.place.kind])
        table = {name: text for name in names if (text := self.parts.target_text(each, name)).strip()}
        shown_at = place if each.place.is_separate else KeyPath(TARGET)
        return CampaignReader.read_target(self, {each.place.kind: table}, shown_at)

    def _read_disks(self, each: ConfigurationDraft, place: KeyPath) -> Partial:
        """Return the keys of the spare disks and their filesystem; problems appear on their own pages."""
        found = read_target(self.parts.disks_of(each), each.made, wal_apart=each.wal_apart)
        is_of_pages = each.made is None and each.disks is None
        for problem in found.problems:
            self.add(KeyPath(problem.path) if is_of_pages else place, problem.message)
        if found.target is None:
            return {(TARGET,): Given(None, place, refused=True)}
        return partial_of_target(found.target, place)

    @override
    def check(self, layer: Stated, shared: Stated) -> None:
        """Report contradictions, at the configuration if its change causes one."""
        if layer.target is None:
            sentence = tr("Tick at least one place for PostgreSQL's data.")
            self.add(KeyPath("target"), sentence)
            return
        for rule in RULES:
            breach = rule(layer)
            if breach is None:
                continue
            place, sentence = breach
            if place.path.startswith("configuration") or rule(shared) == breach:
                self.add(place, sentence)
            elif place.path.startswith(PHASES):  # the same in all configurations
                self.add(place, sentence, about=quoted(layer.place.configuration))
            else:
                path = place.path
                self.add(
                    layer.place,
                    sentence,
                    about=FIELDS[path].shown_name if path in FIELDS else path.removeprefix(f"{SETTINGS}."),
                )
