"""From the fields of a draft to a campaign: every field through its kind, every rule of campaign files.

The same registries decide as for campaign files (`app.campaign_file.fields`, `app.campaign_file.scopes`);
here they are only asked, and what they refuse becomes a problem of the page that holds the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.campaign_file.fields import (
    MOST_CONFIGURATIONS,
    MOST_RUNS,
    SECTIONS,
)
from app.campaign_file.problems import KeyPath as FilePlace
from app.campaign_file.scopes import RULES, Scope, ScopedValue, Table
from app.domain.campaign.configuration import (
    Campaign,
    Configuration,
    PostgresChoice,
    Target,
    Workload,
)
from app.domain.problem import Problem
from app.domain.text import tr
from app.draft.disks.target import read_target
from app.draft.fields.fields import FIELDS, NULLABLE, OPTIONAL, SCRIPT, SETTINGS, automatic_name
from app.draft.fields.state import (
    ConfigurationDraft,
    DraftParts,
    Place,
)
from app.draft.fields.text import parse_scripts
from app.draft.machine_answers import MachineAnswer, MachineQuestion
from app.draft.reading import FieldReader


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """What became of a draft.

    Attributes:
        campaign: None where something is wrong or not known yet.
        problems: of the fields; not what the machine says.
        questions: without whose answers there is no campaign.
        postgresql: what the second page says; None where something on it is wrong.
        workload: what the third page says; None likewise.
        targets: what each chosen configuration says, by its place in the list of those chosen.
        configurations: each that is right, by the same number.
    """

    campaign: Campaign | None
    problems: tuple[Problem, ...]
    questions: tuple[MachineQuestion, ...]
    postgresql: PostgresChoice | None
    workload: Workload | None
    targets: Mapping[int, Target]
    configurations: Mapping[int, Configuration]


def build(parts: DraftParts, answers: Mapping[MachineQuestion, MachineAnswer]) -> ValidationResult:
    """Return the campaign of a draft, or everything that is wrong with its fields."""
    return _Builder(parts, FieldReader(answers)).build()


@dataclass(slots=True)
class _Builder:
    """Reads all fields and notes what is wrong."""

    parts: DraftParts
    reader: FieldReader

    def build(self) -> ValidationResult:
        base = Scope(
            sections={
                "postgresql": self.reader.read_postgresql(self.parts.postgresql),
                "workload": self.reader.read_workload(self.parts.workload),
            }
        )
        repeats = self.reader.read("repeats", self.parts.campaign.repeats)
        where = self._read_where()
        targets: dict[int, Target] = {}
        configurations: dict[int, Configuration] = {}
        for number, each in enumerate(self.parts.chosen()):
            target = self._target(each, number, where)
            if target is not None:
                targets[number] = target
            made = self._configuration(each, number, target, base)
            if made is not None:
                configurations[number] = made
        self._check_list(repeats)
        alone = base.over(Scope())
        postgresql, workload = _part(PostgresChoice, alone, "postgresql"), _part(Workload, alone, "workload")
        campaign = None
        name = self._campaign_name(configurations)
        if name and configurations and not self.reader.problems and not self.reader.questions:
            ordered = tuple(configurations.values())
            campaign = Campaign(name, ordered, repeats, self.parts.campaign.seeds)
        return ValidationResult(
            campaign,
            tuple(dict.fromkeys(self.reader.problems)),
            tuple(dict.fromkeys(self.reader.questions)),
            postgresql,
            workload,
            targets,
            configurations,
        )

    # --- the pages

    def _read_where(self) -> dict[Place, Target | None]:
        """Return the folder and the memory of the first page; None where refused or nobody wants it."""
        wanted = {each.place for each in self.parts.chosen()}
        found: dict[Place, Target | None] = {}
        if Place.FOLDER in wanted:
            found[Place.FOLDER] = self.reader.make_target("folder", self.parts.where.path, "")
        if Place.MEMORY in wanted:
            found[Place.MEMORY] = self.reader.make_target("memory", self.parts.where.memory_size, "")
        if not self.parts.chosen():
            self.reader.add("target", tr("Tick at least one place: PostgreSQL's data has to lie somewhere."))
        return found

    # --- configurations

    def _target(
        self, each: ConfigurationDraft, number: int, where: Mapping[Place, Target | None]
    ) -> Target | None:
        path = f"configuration[{number + 1}].target"
        match each.place:
            case Place.FOLDER | Place.MEMORY:
                return where[each.place]
            case Place.DISKS:
                return self._on_disks(each, path)
            case Place.OTHER_FOLDER:
                return self.reader.make_target("folder", each.text, path)
            case Place.OTHER_MEMORY:
                return self.reader.make_target("memory", each.text, path)

    def _on_disks(self, each: ConfigurationDraft, path: str) -> Target | None:
        """Return the spare disks with what is made of them; their pages tell what is wrong with it."""
        found = read_target(self.parts.disks_of(each), each.made, wal_apart=each.wal_apart)
        is_of_pages = each.made is None and each.disks is None
        for problem in found.problems:
            self.reader.add(problem.path if is_of_pages else path, problem.message)
        return found.target

    def _configuration(
        self, each: ConfigurationDraft, number: int, target: Target | None, base: Scope
    ) -> Configuration | None:
        place = FilePlace(f"configuration[{number + 1}]")
        name = self.reader.name(each.name, f"{place}.name")
        changes: dict[str, Table] = {section: {} for section in SECTIONS}
        for change in each.changes:
            self._read_change(change.key, change.text, place, changes)
        if each.settings.strip():
            path = f"{place}.{SETTINGS}"
            changes["postgresql"]["settings"] = self.reader.settings(each.settings, path, FilePlace(path))
        layer = Scope(place, ScopedValue(target, place), changes).over(base)
        self._check_rules(layer, base)
        postgresql, workload = _part(PostgresChoice, layer, "postgresql"), _part(Workload, layer, "workload")
        if name is None or target is None or postgresql is None or workload is None:
            return None
        return Configuration(name, target, postgresql, workload)

    def _check_rules(self, layer: Scope, base: Scope) -> None:
        """Note what values do not go together; at the configuration where its change is the reason."""
        for rule in RULES:
            breach = rule(layer)
            if breach is None:
                continue
            path, sentence = breach[0].path, breach[1]
            if path.startswith("configuration") or rule(base) == breach:
                self.reader.add(path, sentence)
            else:
                self.reader.add(layer.place.path, sentence, about=path)

    def _read_change(self, key: str, text: str, place: FilePlace, changes: dict[str, Table]) -> None:
        section = key.partition(".")[0]
        path = f"{place}.{key}"
        each = FIELDS[key]
        if key == SCRIPT:
            value: Any = self.reader.scripts(parse_scripts(text), path)
        elif not text.strip() and key in OPTIONAL:
            value = None
        else:
            value = self.reader.read(key, text, path)
            if value is not None and each.instead_of:
                changes[section][each.instead_of] = ScopedValue(None, FilePlace(path))
        changes[section][each.attribute] = ScopedValue(value, FilePlace(path))

    def _campaign_name(self, configurations: Mapping[int, Configuration]) -> str | None:
        text = self.parts.campaign.name.strip()
        if not text:
            return automatic_name([each.name for each in configurations.values()])
        return self.reader.name(text, "name")

    def _check_list(self, repeats: int | None) -> None:
        chosen = self.parts.chosen()
        before: set[str] = set()
        for number, each in enumerate(chosen, start=1):
            name = each.name.strip()
            if name and name in before:
                sentence = tr("“{name}” is the name of more than one configuration; names tell runs apart.")
                self.reader.add(f"configuration[{number}].name", sentence.format(name=name))
            before.add(name)
        if len(chosen) > MOST_CONFIGURATIONS:
            sentence = tr("{count} configurations are more than the {most} that are allowed.")
            self.reader.add("configuration", sentence.format(count=len(chosen), most=MOST_CONFIGURATIONS))
        if repeats and repeats * len(chosen) > MOST_RUNS:
            sentence = tr("{runs} runs are more than the {most} that are allowed.")
            self.reader.add("repeats", sentence.format(runs=repeats * len(chosen), most=MOST_RUNS))


def _part(make: type[Any], layer: Scope, section: str) -> Any:  # noqa: ANN401
    """Return a part of a configuration; None where one of its values was refused."""
    values = {attribute: given.value for attribute, given in layer.sections[section].items()}
    if any(value is None and attribute not in NULLABLE[section] for attribute, value in values.items()):
        return None
    if section == "workload" and not _is_complete(values):
        return None
    return make(**values)


def _is_complete(values: Mapping[str, Any]) -> bool:
    """Whether size and length are said in one of their two ways."""
    has_size = values.get("scale") is not None or values.get("size") is not None
    return has_size and (values.get("duration_s") is not None or values.get("transactions") is not None)
