"""Read the table ``[recipe]`` at the top of a campaign file, and find the recipes shipped with pgFooting.

A recipe is a campaign file. Its head states the question it answers and its requirements, and contains the
quick variant: the same comparison with little data and short runs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from app import TOP
from app.campaign_file.kinds import (
    CampaignField,
    EnumKind,
    IntKind,
    ListOf,
    Name,
    ValueKind,
    WholeSeconds,
    read_fields,
    table_of,
)
from app.campaign_file.problems import InvalidValueError, KeyPath, Problems, printable
from app.domain.errors import Problem, UsageError, did_you_mean
from app.domain.text import CALLED, tr

RECIPE: Final = "recipe"
"""The table's key."""

MOST_QUICK_CONFIGURATIONS: Final = 8
MOST_QUICK_SCALE: Final = 5
MOST_QUICK_SECONDS: Final = 5
"""Longest warm-up and longest measured phase of a quick variant, which is done in a quarter of an hour even
on a virtual machine with six disks.
"""

LONGEST_SENTENCE: Final = 400
MOST_SENTENCES: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickVariant:
    """The same comparison with little data and short runs.

    Attributes:
        cannot_show: limits of its result.
        configurations: names of those kept; empty for all.
        repeats: runs of each.
        scale: of the data set.
        duration_s: length of the measured phase.
        warmup_s: length of the warm-up; none if caches are cold.
        clients: concurrent connections; None for those of the recipe.
    """

    cannot_show: str
    configurations: tuple[str, ...] = ()
    repeats: int = 3
    scale: int = 2
    duration_s: int = MOST_QUICK_SECONDS
    warmup_s: int = 1
    clients: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerVariant:
    """The recipe's workload on servers that already run, on storage that their owner created.

    Attributes:
        prepare: the owner's preparations, step by step.
        scale: of the data set; None for that of the recipe.
    """

    prepare: tuple[str, ...]
    scale: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeHead:
    """The description of a recipe.

    Attributes:
        question: in a few words.
        figures: names of the figures that answer it.
        source: of the experiment; empty if it is pgFooting's own.
        changed: differences from the source, and why, a sentence each.
        missing: parts of the source that it cannot repeat, a sentence each.
        needs: further requirements for a machine, a sentence each.
        disks: least number of spare disks; 0 for none.
        postgresql: oldest major version of PostgreSQL; 0 for any.
        quick: None without a quick variant.
        server: None if it cannot use servers that already run.
    """

    question: str
    figures: tuple[str, ...] = ()
    source: str = ""
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    disks: int = 0
    postgresql: int = 0
    quick: QuickVariant | None = None
    server: ServerVariant | None = None


_SENTENCE: Final = Name(LONGEST_SENTENCE)
SENTENCES: Final = ListOf(_SENTENCE, MOST_SENTENCES)
ANSWERS: Final = ListOf(
    EnumKind(
        (
            *("tps", "latency_p50_ms", "latency_p99_ms", "wal_bytes", "device_flushes", "device_write_bytes"),
            *("device_read_bytes", "server_cpu_us", "load_rows_s", "longest_stall_s", "jitter_cv"),
        )
    ),
    4,
)
"""Figures that may answer a question, by their names in run files."""

_CANNOT_SHOW = tr("Limits of the quick variant.")
_KEPT = tr("The configurations of the quick variant; default: all, at most eight.")
_QUICK_VALUE: Final = tr("This value in the quick variant; default: {value}.")
_QUICK_REPEATS = _QUICK_VALUE.format(value=3)
_QUICK_SCALE = _QUICK_VALUE.format(value=2)
_QUICK_DURATION = _QUICK_VALUE.format(value="5 s")
_QUICK_WARMUP = _QUICK_VALUE.format(value="1 s")
_QUICK_CLIENTS = _QUICK_VALUE.format(value=tr("as in the recipe"))
_QUESTION = tr("The question this campaign answers, in a few words.")
_FIGURES = tr("The metrics that answer this question; default: transactions per second.")
_SOURCE = tr("Source of the experiment.")
_CHANGED = tr("Deviations from the source, and why.")
_MISSING = tr("Parts of the source that cannot be reproduced.")
_NEEDS = tr("Other requirements for the machine.")
_DISKS = tr("Minimum number of spare disks.")
_POSTGRESQL = tr("Oldest supported major version of PostgreSQL.")
_QUICK = tr("The same comparison with little data and short runs.")
_SERVER = tr("The same workload on existing servers, on filesystems created by their owners.")
_PREPARE = tr("Steps for the owner of such a server, in order.")
_SERVER_SCALE = tr("The scale factor on existing servers, if the recipe's size is a share of memory.")

QUICK_FIELDS: Final = (
    CampaignField("cannot_show", _SENTENCE, _CANNOT_SHOW),
    CampaignField("configurations", ListOf(Name(), MOST_QUICK_CONFIGURATIONS), _KEPT),
    CampaignField("repeats", IntKind(1, 3), _QUICK_REPEATS),
    CampaignField("scale", IntKind(1, MOST_QUICK_SCALE), _QUICK_SCALE),
    CampaignField("duration", WholeSeconds(1, MOST_QUICK_SECONDS), _QUICK_DURATION, attribute="duration_s"),
    CampaignField("warmup", WholeSeconds(0, MOST_QUICK_SECONDS), _QUICK_WARMUP, attribute="warmup_s"),
    CampaignField("clients", IntKind(1, 64), _QUICK_CLIENTS),
)


SERVER_FIELDS: Final = (
    CampaignField("prepare", SENTENCES, _PREPARE),
    CampaignField("scale", IntKind(1, 1_000_000), _SERVER_SCALE),
)


@dataclass(frozen=True, slots=True)
class HeadTable(ValueKind):
    """A table below ``[recipe]``.

    Attributes:
        make: returns its object from values by attribute.
        fields: its keys.
        required: its required keys.
    """

    make: Callable[..., Any]
    fields: tuple[CampaignField, ...]
    required: tuple[str, ...]

    @property
    @override
    def allowed(self) -> str:
        return table_of(self.fields)

    @override
    def read(self, value: object, folder: Path) -> Any:
        return self.make(**_read(value, self.fields, self.required, folder))


RECIPE_FIELDS: Final = (
    CampaignField("question", _SENTENCE, _QUESTION),
    CampaignField("figures", ANSWERS, _FIGURES),
    CampaignField("source", _SENTENCE, _SOURCE),
    CampaignField("changed", SENTENCES, _CHANGED),
    CampaignField("missing", SENTENCES, _MISSING),
    CampaignField("needs", SENTENCES, _NEEDS),
    CampaignField("disks", IntKind(1, 64), _DISKS),
    CampaignField("postgresql", IntKind(13, 99), _POSTGRESQL),
    CampaignField("quick", HeadTable(QuickVariant, QUICK_FIELDS, ("cannot_show",)), _QUICK),
    CampaignField("server", HeadTable(ServerVariant, SERVER_FIELDS, ("prepare",)), _SERVER),
)


def read_head(entry: object, problems: Problems) -> RecipeHead | None:
    """Return the content of the table ``[recipe]``; None if it has a problem, which is reported.

    Args:
        entry: the table, as in TOML.
        problems: collects the problems.
    """
    place = KeyPath(RECIPE)
    try:
        return RecipeHead(**_read(entry, RECIPE_FIELDS, ("question",), Path()))
    except InvalidValueError as error:
        for problem in error.problems:
            problems.add(place.within(problem.path), problem.message)
        return None


def parse_head(text: str) -> RecipeHead | None:
    """Return the head of a campaign file that was read without problems; None if it has none.

    Args:
        text: of the file.
    """
    entry = tomllib.loads(text).get(RECIPE)
    return None if entry is None else read_head(entry, Problems())


def _read(
    entry: object, fields: tuple[CampaignField, ...], required: tuple[str, ...], folder: Path
) -> dict[str, Any]:
    """Return the values of a table by attribute.

    Raises:
        InvalidValueError: lists all its problems.
    """
    values, faults = read_fields(entry, fields, folder)
    faults += [Problem(f".{key}", tr("is missing.")) for key in required if key not in values]
    if faults:
        raise InvalidValueError(*sorted(faults, key=lambda fault: fault.path))
    return values


RECIPES: Final = TOP / "resources" / "recipes"

DEFAULT_RECIPE: Final = "quick"
"""The recipe that runs by default."""

EXAMPLE: Final = "example"
"""Start of the names of recipes that explain keys."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A campaign file shipped with pgFooting.

    Attributes:
        name: the file's name without its suffix.
        path: the file.
        summary: its first line, a sentence or a question, in the user's language.
        head: question, limits of the quick variant and preparations on a server, in the user's language, and
            requirements.
    """

    name: str
    path: Path
    summary: str
    head: RecipeHead


def list_recipes(folder: Path = RECIPES) -> tuple[Recipe, ...]:
    """Return all recipes by question and name, the default first, those that explain keys last.

    Args:
        folder: of the recipes.
    """
    recipes = list(map(_read_recipe, folder.glob("*.toml")))
    return tuple(sorted(recipes, key=_turn))


def find_recipe(name: str, folder: Path = RECIPES) -> Recipe:
    """Return the recipe with a name.

    Args:
        name: as typed.
        folder: of the recipes.

    Raises:
        UsageError: the name is unknown; suggests a similar one.
    """
    recipes = {each.name: each for each in list_recipes(folder)}
    if name in recipes:
        return recipes[name]
    message = tr("There is no recipe “{name}”.").format(name=printable(name))
    near = did_you_mean(name[:80], recipes)
    hint = tr("“{command} recipes” lists them. To run a campaign file, give its name with .toml.")
    raise UsageError(f"{message} {near}".rstrip(), hint=hint.format(command=CALLED))


def _turn(recipe: Recipe) -> tuple[bool, bool, bool, str, str]:
    """Return a sort key: the default, folders, spare disks, and last those that only explain."""
    head = recipe.head
    explains = recipe.name.startswith(EXAMPLE)
    return recipe.name != DEFAULT_RECIPE, explains, head.disks > 0, head.question, recipe.name


def _read_recipe(path: Path) -> Recipe:
    text = path.read_text(encoding="utf-8")
    summary = text.partition("\n")[0].removeprefix("#").strip()
    head = parse_head(text) or RecipeHead(question=summary)
    quick = head.quick and replace(head.quick, cannot_show=tr(head.quick.cannot_show))
    server = head.server and replace(head.server, prepare=tuple(map(tr, head.server.prepare)))
    translated = replace(head, question=tr(head.question), quick=quick, server=server)
    return Recipe(path.stem, path, tr(summary), translated)
