"""Read campaign files: from TOML to a validated `Campaign`, or all problems at once.

::

    text -> tables -> partial documents (top of the file, each configuration) -> merged -> rules -> Campaign

Tables at the top are the common start of all configurations; ``[[configuration]]`` entries change it key by
key (a target as a whole), or ``[[dimension]]`` entries in every combination (`app.campaign_file.matrix`).
`app.campaign_file.writer` writes such files.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from app.campaign_file.fields import (
    ALIKE,
    CAMPAIGN_FIELDS,
    MOST_CONFIGURATIONS,
    MOST_RUNS,
    SECTIONS,
    TARGETS,
    TargetTable,
    where_it_belongs,
)
from app.campaign_file.kinds import CampaignField, Key, exclusive_keys, join_values, table_of
from app.campaign_file.matrix import read_matrix
from app.campaign_file.partial import TARGET, Given, Partial, given_at, over, values_at
from app.campaign_file.paths import STORED, UnreadableFileError, read_text_file
from app.campaign_file.problems import InvalidValueError, KeyPath, Problems, printable_path, refusal
from app.campaign_file.recipes.head import RECIPE, RecipeHead, parse_head, read_head
from app.campaign_file.rules import RULES, Stated
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import (
    Caches,
    Campaign,
    Configuration,
    PostgresChoice,
    Target,
    Workload,
    default_repeats,
)
from app.domain.campaign.matrix import FEWEST_CAP, Design, Matrix, RunOrder, contests
from app.domain.errors import CampaignError, Problem
from app.domain.text import MIB, tr


def design_problems(
    top: Partial, configurations: Sequence[Configuration | None]
) -> Iterator[tuple[KeyPath, str]]:
    """Yield place and sentence of each contradiction to the chosen design, such as a sequential one.

    Args:
        top: of the campaign as a whole.
        configurations: None for one with refused values.
    """
    given = top.get(("design",))
    if given is not None and given.refused:
        return
    if given is None or given.value is not Design.SEQUENTIAL:
        if ("precision",) in top:
            sentence = tr("can only be used with design = “{design}”: a fixed design never ends early.")
            yield top["precision",].place, sentence.format(design=Design.SEQUENTIAL)
        return
    repeats = top.get(("repeats",))
    if repeats is not None and repeats.value is not None and repeats.value < FEWEST_CAP:
        sentence = tr(
            "found {repeats}; design = “{design}” needs at least {fewest}, because nothing is dropped "
            "before round three."
        )
        message = sentence.format(repeats=repeats.value, design=Design.SEQUENTIAL, fewest=FEWEST_CAP)
        yield repeats.place, message
    known = [each for each in configurations if each is not None]
    if known and len(known) == len(configurations) and not contests(known):
        sentence = tr(
            "found “{design}”, which needs two or more configurations with the same workload and memory "
            "limit, and no rate."
        )
        yield given.place, sentence.format(design=Design.SEQUENTIAL)


__all__ = [
    "FILE_LIMIT_BYTES",
    "CampaignFile",
    "format_campaign",
    "load_campaign",
    "parse_campaign",
    "read_campaign_file",
]

FILE_LIMIT_BYTES: Final = MIB

_MOST_DOTS_SQUARED: Final = 10**7
"""Limit because tomllib (3.11) keeps every prefix of a dotted key: a key of 400 000 parts took all memory of
23 GiB.
"""

_NAME_FIELDS: Final = tuple(field for field in CAMPAIGN_FIELDS if field.name == "name")
_SHARED_KEYS: Final = ("target", *SECTIONS)
_TARGET_KINDS: Final = ", ".join(f"[target.{target.kind}]" for target in TARGETS)
_TOML_PLACE: Final = re.compile(
    r"(?P<reason>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class CampaignFile:
    """A campaign file as read, once.

    Attributes:
        text: of the file.
        campaign: its campaign, with the texts of its scripts.
        head: of a recipe; None if it has none.
    """

    text: str
    campaign: Campaign
    head: RecipeHead | None = None


def load_campaign(path: Path | str) -> Campaign:
    """Return the campaign of a file; see `read_campaign_file`."""
    return read_campaign_file(path).campaign


def read_campaign_file(path: Path | str) -> CampaignFile:
    """Read a campaign file and its script files; targets and servers are not checked.

    Args:
        path: the TOML file; script names in it are relative to its folder.

    Raises:
        CampaignError: the file cannot be read, or has problems.
    """
    path = Path(path)
    try:
        text = read_text_file(path, FILE_LIMIT_BYTES)
    except UnreadableFileError as err:
        message = tr("The campaign file {path} {reason}. Nothing was started.")
        raise CampaignError(message.format(path=printable_path(path), reason=err)) from err
    campaign = parse_campaign(text, base_directory=path.parent, source_name=printable_path(path))
    return CampaignFile(text, campaign, parse_head(text))


def parse_campaign(text: str, *, base_directory: Path | str, source_name: str) -> Campaign:
    """Return the campaign that a text describes.

    Args:
        text: TOML.
        base_directory: base of relative names of script files.
        source_name: name of the text in error messages.

    Raises:
        CampaignError: lists every problem with field, value found, and allowed values.
    """
    reader = CampaignReader(Path(base_directory), Problems(source_name))
    return _parse(_read_toml(text, source_name), reader)


def parse_stored_campaign(text: str) -> Campaign:
    """Return the campaign stored as text in a run file.

    Only the text is read: scripts have no texts here, because the run file stores those separately.

    Raises:
        CampaignError: it is not a campaign that this version understands.
    """
    return _parse(_read_toml(text, ""), CampaignReader(STORED, Problems()))


def _parse(document: dict[str, Any], reader: CampaignReader) -> Campaign:
    read = reader.read_campaign(document)
    reader.problems.raise_if_any()
    made = (build_configuration(name, layer) for name, layer in read.configurations)
    return build_campaign(read.top, tuple(filter(None, made)), read.matrix)


def _read_toml(text: str, source: str) -> dict[str, Any]:
    if not text.strip():
        raise CampaignError(tr("{source} is empty; nothing was started.").format(source=source))
    dots = [line.count(".") for line in text.split("\n")]
    if sum(count**2 for count in dots) > _MOST_DOTS_SQUARED:
        message = tr("{source}, line {line}: a key has too many parts. Nothing was started.")
        raise CampaignError(message.format(source=source, line=dots.index(max(dots)) + 1))
    try:
        return tomllib.loads(text)
    except RecursionError as err:
        message = tr("{source} nests brackets too deeply for a campaign file. Nothing was started.").format(
            source=source
        )
        raise CampaignError(message) from err
    except tomllib.TOMLDecodeError as err:
        raise _not_toml(str(err), text, source) from err
    except ValueError as err:  # Python's int() refuses thousands of digits
        message = tr("{source} contains a number with thousands of digits. Nothing was started.")
        raise CampaignError(message.format(source=source)) from err


def _not_toml(error: str, text: str, source: str) -> CampaignError:
    match = _TOML_PLACE.fullmatch(error)
    reason = match["reason"] if match else error
    line = match["line"] if match and match["line"] else text.count("\n") + 1
    column = match["column"] if match and match["column"] else len(text.rpartition("\n")[2]) + 1
    message = tr("{source}, line {line}, column {column} is not valid TOML: {reason}. Nothing was started.")
    hint = tr("Texts need quotation marks, tables start with [name], comments with #.")
    return CampaignError(message.format(source=source, line=line, column=column, reason=reason), hint=hint)


@dataclass(frozen=True, slots=True)
class ReadCampaign:
    """The content of a campaign, key by key, including refused values.

    Attributes:
        top: of the campaign as a whole.
        shared: common start of all configurations.
        configurations: name, empty if refused, and merged document of each.
        matrix: with the configurations as cells; None if each is stated.
    """

    top: Partial
    shared: Stated
    configurations: tuple[tuple[str, Stated], ...]
    matrix: Matrix | None = None


def build_postgresql(given: Partial) -> PostgresChoice | None:
    """Return the PostgreSQL choice of a document; None if one of the values was refused."""
    values = values_at(given, ("postgresql",), SECTIONS["postgresql"])
    return None if values is None else PostgresChoice(**values)


def build_workload(given: Partial) -> Workload | None:
    """Return the workload of a document; with cold caches the default is no warm-up.

    None if one of the values was refused.
    """
    values = values_at(given, ("workload",), SECTIONS["workload"])
    if values is None:
        return None
    warmup = {"warmup_s": 0} if values.get("caches") is Caches.COLD else {}
    return Workload(**(warmup | values))


def build_campaign(
    top: Partial, configurations: tuple[Configuration, ...], matrix: Matrix | None = None
) -> Campaign:
    """Return a campaign; the default number of repeats depends on the number of configurations."""
    given = join_values({key: each.value for key, each in top.items()}, CAMPAIGN_FIELDS)
    repeats = default_repeats(len(configurations), given.get("design", Design.FIXED))
    values = {"repeats": repeats} | given
    return Campaign(configurations=configurations, matrix=matrix, **values)


def build_configuration(name: str, layer: Stated) -> Configuration | None:
    """Return a configuration; None if part of it is missing or was refused."""
    postgresql, workload = build_postgresql(layer.given), build_workload(layer.given)
    if not name or layer.target is None or layer.target.refused or postgresql is None or workload is None:
        return None
    return Configuration(name, layer.target.value, postgresql, workload)


@dataclass(frozen=True, slots=True)
class CampaignReader:
    """Read the tables of a campaign and collect problems; a draft's fields use it like a file.

    Attributes:
        folder: base of relative names of script files.
        problems: all that were found.
    """

    folder: Path
    problems: Problems
    _targets: dict[str, tuple[Target | None, Sequence[Problem]]] = field(default_factory=dict, kw_only=True)
    """Targets already made, with their problems: most configurations of a matrix share one."""

    def read_campaign(self, document: Mapping[str, Any]) -> ReadCampaign:
        """Return the merged content of the file."""
        top = self.read_keys(
            document,
            CAMPAIGN_FIELDS,
            KeyPath(),
            elsewhere=(*_SHARED_KEYS, "configuration", "dimension", "exclude", RECIPE),
        )
        if RECIPE in document:
            read_head(document[RECIPE], self.problems)
        if ("name",) not in top:
            self.problems.add(KeyPath("name"), tr("is missing: give it its own name."))
        name = top["name",].value if ("name",) in top else ""
        matrix = None
        if "dimension" in document or "exclude" in document:
            shared, made = read_matrix(self, document, name)
            below = Stated(KeyPath(), shared)
            configurations, matrix = (made.configurations, made.matrix) if made is not None else ((), None)
        else:
            shared = over({}, self.read_partial(document, KeyPath()))
            listed = self._read_configurations(document, shared)
            below = Stated(KeyPath(), shared) if listed is not None else self._state(shared, KeyPath())
            configurations = ((name, below),) if listed is None else listed
        self.check_configurations(top, below, configurations)
        order = top["order",].value if ("order",) in top else RunOrder.RANDOM
        if ("order_seed",) in top and order is RunOrder.ALTERNATING:
            sentence = tr("can only be used with a random order; “{order}” has no seed.")
            self.problems.add(KeyPath("order_seed"), sentence.format(order=order))
        return ReadCampaign(top, below, configurations, matrix)

    def check_configurations(
        self, top: Partial, below: Stated, configurations: Sequence[tuple[str, Stated]]
    ) -> None:
        """Report the problems of configurations, individually and together.

        Args:
            top: of the campaign as a whole.
            below: common start of all configurations.
            configurations: name and merged document of each.
        """
        for _, layer in configurations:
            self.check(layer, below)
        self._check_alike([layer for _, layer in configurations])
        built = [build_configuration(name, layer) for name, layer in configurations]
        for breach in design_problems(top, built):
            self.problems.add(*breach)
        repeats = top["repeats",].value if ("repeats",) in top else None
        if repeats and repeats * len(configurations) > MOST_RUNS:
            sentence = tr("{runs} runs are too many; at most {most} are allowed.")
            runs = repeats * len(configurations)
            self.problems.add(KeyPath("repeats"), sentence.format(runs=runs, most=MOST_RUNS))

    def _check_alike(self, layers: Sequence[Stated]) -> None:
        """Report differences in keys that must be the same in all configurations; each value once."""
        for key in ALIKE:
            given = [layer.given.get(tuple(key.split("."))) for layer in layers]
            if any(each is not None and each.refused for each in given):
                continue
            values = [None if each is None else each.value for each in given]
            other = next((place for place, value in enumerate(values) if value != values[0]), None)
            if other is None:
                continue
            first = given[other] or given[0]
            sentence = tr("must be the same in all configurations of a campaign: set it once, at the top.")
            if first is not None:
                self.problems.add(first.place, sentence)

    def _read_configurations(
        self, document: Mapping[str, Any], below: Partial
    ) -> tuple[tuple[str, Stated], ...] | None:
        """Return name and merged document of each ``[[configuration]]``; None if there are none."""
        if "configuration" not in document:
            return None
        entries = document["configuration"]
        if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_CONFIGURATIONS:
            allowed = tr("1 to {most} tables, each beginning with {heading}")
            found = refusal(entries, allowed.format(most=MOST_CONFIGURATIONS, heading="[[configuration]]"))
            self.problems.add(KeyPath("configuration"), found)
            return ()
        read: list[tuple[str, Stated]] = []
        without_target = {key: given for key, given in below.items() if key[0] != TARGET}
        names: set[str] = set()
        for number, entry in enumerate(entries, start=1):
            name, place, own = self._read_configuration(entry, KeyPath(f"configuration[{number}]"))
            if name and name in names:
                sentence = tr("“{name}” is given several times; names must differ.")
                self.problems.add(KeyPath(f"configuration[{number}].name"), sentence.format(name=name))
            names.add(name)
            has_target = any(key[0] == TARGET for key in own)  # a target is replaced as a whole
            given = over(without_target if has_target else below, own)
            read.append((name, self._state(given, place)))
        return tuple(read)

    def _read_configuration(self, entry: object, place: KeyPath) -> tuple[str, KeyPath, Partial]:
        if not isinstance(entry, dict):
            self.problems.add(
                place,
                refusal(entry, tr("a table that begins with {heading}").format(heading="[[configuration]]")),
            )
            return "", place, {}
        table = self.read_keys(entry, _NAME_FIELDS, place, elsewhere=_SHARED_KEYS)
        if ("name",) not in table:
            self.problems.add(place / "name", tr("is missing: give it its own name."))
        name = (table["name",].value or "") if ("name",) in table else ""
        place = KeyPath(place.path, configuration=name)
        return name, place, self.read_partial(entry, place)

    def read_partial(self, entry: Mapping[str, Any], place: KeyPath) -> Partial:
        """Return the keys of a table about target, server and workload."""
        found = self.read_target(entry[TARGET], place / TARGET) if TARGET in entry else {}
        for name, fields in SECTIONS.items():
            if name in entry:
                found |= self.read_table(entry[name], fields, place / name, (name,))
        return found

    def read_target(self, entry: Any, place: KeyPath) -> Partial:  # noqa: ANN401 - what TOML gives
        """Return the keys of a target; a single refused value if it has no kind, or several."""
        kind = self.find_target(entry, place)
        if kind is None:
            return {(TARGET,): Given(None, place, refused=True)}
        path = (TARGET, kind.kind)
        place /= kind.kind
        return {path: Given({}, place)} | self.read_table(entry[kind.kind], kind.fields, place, path)

    def _state(self, given: Partial, place: KeyPath) -> Stated:
        """Return the merged document of a configuration at `place`, with its target."""
        target, problems = self.make_target(given)
        if target is not None:
            self.refuse(target.place, problems)
        return Stated(place, given, target)

    def find_target(self, entry: Any, place: KeyPath) -> TargetTable | None:  # noqa: ANN401
        """Return the kind of target of a table; None if it has none or several, which is reported."""
        kinds = {target.kind: target for target in TARGETS}
        wanted = tr("exactly one of {kinds}").format(kinds=_TARGET_KINDS)
        if not isinstance(entry, dict) or not entry:
            self.problems.add(place, refusal(entry, wanted))
            return None
        for key in entry:
            if key not in kinds:
                self.problems.add_unknown(place, key, kinds, belongs=where_it_belongs(key))
        given = [kinds[kind] for kind in kinds if kind in entry]
        if len(given) > 1:
            for kind in given:  # report all other mistakes in the same pass
                self.read_table(entry[kind.kind], kind.fields, place / kind.kind, (TARGET, kind.kind))
            self.problems.add(place, tr("mixes several kinds; it must have {wanted}.").format(wanted=wanted))
        return given[0] if len(given) == 1 else None

    def make_target(self, given: Partial) -> tuple[Given | None, Sequence[Problem]]:
        """Return the target of a document, None if it has none, and its problems below its table."""
        if (TARGET,) in given:
            return given[TARGET,], ()
        kind = next((each for each in TARGETS if (TARGET, each.kind) in given), None)
        if kind is None:
            return None, ()
        path = (TARGET, kind.kind)
        place, values = given[path].place, values_at(given, path, kind.fields)
        if values is None:
            return Given(None, place, refused=True), ()
        values = {name: value for name, value in values.items() if value is not None}
        known = f"{kind.kind} {sorted(values.items())!r}"  # repr, because 1 equals true
        if known not in self._targets:
            found = kind.faults(values)
            self._targets[known] = None if found else kind.make(**values), found
        target, problems = self._targets[known]
        return Given(target, place, refused=target is None), problems

    def read_table(
        self, entry: object, fields: tuple[CampaignField, ...], place: KeyPath, path: Key
    ) -> Partial:
        """Return the values of the table at `path`."""
        if isinstance(entry, dict):
            return self.read_keys(entry, fields, place, path)
        self.problems.add(place, refusal(entry, table_of(fields)))
        return {}

    def read_keys(
        self,
        entry: Mapping[str, Any],
        fields: tuple[CampaignField, ...],
        place: KeyPath,
        path: Key = (),
        *,
        elsewhere: tuple[str, ...] = (),
    ) -> Partial:
        """Return the values of a table's keys below `path`; keys in `elsewhere` are read by other code."""
        by_name = {field.name: field for field in fields}
        known = (*by_name, *elsewhere)
        table: Partial = {}
        for key, raw in entry.items():
            if key in by_name:
                field = by_name[key]
                table |= given_at((*path, key), field, self.read_value(field, raw, place / key))
            elif key not in elsewhere:
                self.problems.add_unknown(place, key, known, belongs=where_it_belongs(key))
        for sentence in exclusive_keys(entry, fields):
            self.problems.add(place, sentence)
        return table

    def read_value(self, field: CampaignField, raw: object, place: KeyPath) -> Given:
        """Return the value of one key."""
        try:
            return Given(field.kind.read(raw, self.folder), place)
        except InvalidValueError as error:
            self.refuse(place, error.problems)
            return Given(None, place, refused=True)

    def refuse(self, place: KeyPath, problems: Iterable[Problem]) -> None:
        """Report the problems of a key's value; their paths continue from there."""
        for problem in problems:
            self.problems.add(place.within(problem.path), problem.message)

    def check(self, layer: Stated, shared: Stated) -> None:  # noqa: ARG002 - for those who tell them apart
        """Report the problems of a configuration as a whole."""
        if layer.target is None:
            sentence = tr("is missing: choose where the data goes. Allowed is one of {kinds}.")
            self.problems.add(layer.place / "target", sentence.format(kinds=_TARGET_KINDS))
        for rule in RULES:
            breach = rule(layer)
            if breach:
                self.problems.add(*breach)
