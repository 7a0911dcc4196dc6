"""The chapters of the manual, in order, with the tables generated from declarations. Pure.

Generated: every key of campaign files, with the examples' remarks; filesystems, options, levels, words,
figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from app import TOP
from app.analysis.glossary import GLOSSARY
from app.campaign_file.dimensions import DIMENSION_KEYS
from app.campaign_file.fields import CAMPAIGN_FIELDS, PHASE_FIELDS, SECTIONS, TARGETS
from app.campaign_file.kinds import CampaignField
from app.campaign_file.reader import read_campaign_file
from app.campaign_file.recipes.adapt import server_steps
from app.campaign_file.recipes.head import (
    EXAMPLE,
    QUICK_FIELDS,
    RECIPE_FIELDS,
    RECIPES,
    SERVER_FIELDS,
    Recipe,
    list_recipes,
)
from app.domain.disturbances import describe_thresholds
from app.domain.errors import UsageError, did_you_mean
from app.domain.filesystems import FILESYSTEMS
from app.domain.metrics import METRICS
from app.domain.options.filesystem_spec import FilesystemSpec, real_name
from app.domain.options.kinds import OptionValue
from app.domain.options.option_spec import OptionSpec, Safety, words_of
from app.domain.options.raid import LAYOUTS, Assembler
from app.domain.text import ENGLISH, LANGUAGE, titled, tr
from app.manual.markdown import markdown_table, marked_markdown, plain_markdown
from app.runfile.figures import FIGURES
from app.runfile.writer import SCHEMAS, schema_script

EXAMPLES: Final = ("example.toml", "example-matrix.toml")
"""Recipes that explain keys: the sentence of a key, then its remarks."""

TABLES: Final[Mapping[str, tuple[CampaignField, ...]]] = {
    "": CAMPAIGN_FIELDS,
    **{f"[target.{target.kind}]": target.fields for target in TARGETS},
    **{f"[{name}]": fields for name, fields in SECTIONS.items()},
    "[[workload.phase]]": PHASE_FIELDS,
    "[recipe]": RECIPE_FIELDS,
    "[recipe.quick]": QUICK_FIELDS,
    "[recipe.server]": SERVER_FIELDS,
}
"""Keys by the table of the file that contains them; empty for the top."""


def campaign_keys() -> str:
    """Return every table with its keys."""
    top = tr("At the top, before any [table]")
    parts = [
        part
        for table, fields in TABLES.items()
        for part in (
            f"### {plain_markdown(table or top)}",
            "\n".join(f"- **{each.name}**: {marked_markdown(_field_text(each))}" for each in fields),
        )
    ]
    dimension = "\n".join(
        f"- **{name}**: {marked_markdown(' '.join((sentence, *_remarks(sentence))))}"
        for name, sentence in DIMENSION_KEYS.items()
    )
    return "\n\n".join([*parts, f"### {plain_markdown('[[dimension]]')}", dimension])


def _field_text(field: CampaignField) -> str:
    allowed = tr("Allowed: {allowed}.").format(allowed=field.kind.allowed)
    return " ".join((field.sentence, *_remarks(field.sentence), allowed))


def _remarks(sentence: str) -> Iterator[str]:
    if remark := next((each for each in _comments() if each.startswith(sentence)), "")[len(sentence) :]:
        yield remark.strip()


@cache
def _comments() -> tuple[str, ...]:
    """Return the comments of the examples, each as one line: the sentence of a key, then its remarks."""
    texts = "\n\n".join((RECIPES / name).read_text(encoding="utf-8") for name in EXAMPLES)
    found = re.findall(r"(?:^# .*\n)+", texts, re.MULTILINE)
    return tuple(" ".join(each.replace("\n# ", " ")[2:].split()) for each in found)


_MADE_BY = {
    Assembler.RAW: tr("directly on the disk"),
    Assembler.MD: "md",
    Assembler.BTRFS: "btrfs",
    Assembler.ZFS: "ZFS",
}


def words() -> str:
    """Return the glossary, with a heading for each word as a link target."""
    return "\n\n".join(
        f"### {plain_markdown(each.word)}\n\n{plain_markdown(each.meaning)}" for each in GLOSSARY
    )


def filesystems() -> str:
    """Return the use of each filesystem, and its levels."""
    return _table(
        (titled(tr("filesystem")), tr("Good for"), tr("Levels")),
        ((spec.id, spec.good_for, ", ".join(spec.levels) or tr("needs no disk")) for spec in FILESYSTEMS),
    )


def levels() -> str:
    """Return every RAID level for each assembler."""
    return _table(
        (tr("Level"), tr("Created by"), titled(tr("disks")), tr("Remarks")),
        (
            (
                item.level,
                _MADE_BY[item.assembler],
                _disks(item.minimum_disks, item.maximum_disks),
                words_of(item),
            )
            for item in LAYOUTS
        ),
    )


def _disks(least: int, most: int | None) -> str:
    return str(least) if most == least else tr("{amount} or more").format(amount=least)


def options() -> str:
    """Return every option of every filesystem, each under its heading."""
    return "\n\n".join(part for spec in FILESYSTEMS for part in _options_of(spec))


def _options_of(spec: FilesystemSpec) -> Iterator[str]:
    yield f"## {plain_markdown(spec.id)}"
    if spec.options:
        yield _table(
            (titled(tr("option")), tr("Known as"), tr("Values"), tr("Effect")),
            ((each.id, real_name(each), _values(each), _effect(each)) for each in spec.options),
        )
    for preset in spec.presets:
        chosen = ", ".join(f"{item.option} = {_word(item.value)}" for item in preset.choices)
        message = tr("{label}. It sets {choices}.") if chosen else tr("{label}. It sets no options.")
        sentence = message.format(label=preset.label.rstrip("."), choices=chosen)
        heading = tr("Preset {name}").format(name=preset.id)
        yield f"- **{heading}**: {plain_markdown(sentence)}"
    for lack in spec.lacks:
        missing = tr("Unavailable here: {reason}").format(reason=f"{lack.option}. {lack.why}")
        yield f"- {plain_markdown(missing)}"


def _values(option: OptionSpec) -> str:
    default = tr("depends on the machine") if option.default is None else _word(option.default)
    return tr("{allowed}; default: {default}").format(allowed=option.kind.allowed, default=default)


def _effect(option: OptionSpec) -> str:
    sentences = [option.effect]
    for value, classes in option.risks:
        costs = ", ".join(each.label for each in classes if each is not Safety.SAFE)
        if costs:
            sentences.append(tr("With {value}: {costs}.").format(value=_word(value), costs=costs))
    if option.written_whole:
        sentences.append(
            tr("With values smaller than a page: {costs}.").format(costs=Safety.TORN_PAGES.label)
        )
    return " ".join(sentences)


def _word(value: OptionValue) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def costs() -> str:
    """Return the safety costs of options."""
    return _table((tr("Cost"), tr("What it is")), ((each.label, each.sentence) for each in Safety))


def recipes() -> str:
    """Return the recipes shipped with pgFooting."""
    return _table(
        (tr("Recipe"), tr("Question")),
        ((each.name, each.head.question) for each in list_recipes()),
    )


def server_steps_by_recipe() -> str:
    """Return the preparations of a server that already runs, step by step, by recipe."""
    recipes = (each for each in list_recipes() if not each.name.startswith(EXAMPLE))
    return "\n\n".join(_steps_of(each) for each in recipes if each.head.server is not None)


def _steps_of(recipe: Recipe) -> str:
    steps = server_steps(recipe.name, read_campaign_file(recipe.path).campaign, recipe.head)
    listed = "\n".join(f"- **{at}.** {plain_markdown(step)}" for at, step in enumerate(steps, 1))
    return f"### {plain_markdown(recipe.name)}\n\n{listed}"


def disturbances() -> str:
    """Return the amounts of other activity from which a run counts as disturbed."""
    return "\n".join(f"- {plain_markdown(clause)}" for clause in describe_thresholds().split("; "))


def figures() -> str:
    """Return the names of table summary."""
    return _table(
        (titled(tr("name")), tr("What it is"), tr("Unit")),
        ((each.name, each.label, each.unit) for each in FIGURES),
    )


def metrics() -> str:
    """Return the names of view samples."""
    return _table(
        (tr("Metric"), tr("What it is"), tr("Unit"), tr("From")),
        ((each.id, each.label, each.unit, each.source) for each in METRICS.values()),
    )


def schema() -> str:
    """Return the schema of run files with its comments, as executed."""
    return f"```sql\n{schema_script(max(SCHEMAS)).strip()}\n```"


def _table(heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return markdown_table(heading, (tuple(map(plain_markdown, row)) for row in rows))


MANUAL: Final = TOP / "resources" / "manual"


@dataclass(frozen=True, slots=True)
class Chapter:
    """One chapter.

    Attributes:
        id: name of its file without the suffix; links lead to the file.
        summary: of its manual page, without a full stop; empty if it has none.
    """

    id: str
    summary: str = ""

    @property
    def path(self) -> Path:
        """The path of its file."""
        return MANUAL / f"{self.id}.md"


CHAPTERS: Final = (
    *map(Chapter, ("first-hour", "installing", "verdicts", "method", "marks", "filesystems", "options")),
    Chapter("commands", "compare disks, filesystems and options for PostgreSQL"),
    Chapter("campaign", "campaign files of pgFooting"),
    Chapter("run", "run files of pgFooting"),
    *map(Chapter, ("importing", "safety", "troubleshooting", "talks", "removing", "words")),
)

FILLED: Final[Mapping[str, Callable[[], str]]] = {
    "{{campaign-keys}}": campaign_keys,
    "{{costs}}": costs,
    "{{disturbances}}": disturbances,
    "{{figures}}": figures,
    "{{filesystems}}": filesystems,
    "{{levels}}": levels,
    "{{matrix}}": lambda: (
        f"```toml\n{(RECIPES / 'example-matrix.toml').read_text(encoding='utf-8').strip()}\n```"
    ),
    "{{metrics}}": metrics,
    "{{options}}": options,
    "{{recipes}}": recipes,
    "{{schema}}": schema,
    "{{server-steps}}": server_steps_by_recipe,
    "{{words}}": words,
}
"""Placeholders, alone on a line of a chapter, and their replacements."""

COMMANDS: Final = "{{commands}}"
"""Placeholder for the command line, filled by a layer above this package."""


def find_chapter(name: str) -> Chapter:
    """Return a chapter by its id.

    Raises:
        UsageError: the id is unknown; lists the known ones.
    """
    known = [each.id for each in CHAPTERS]
    for each in CHAPTERS:
        if each.id == name:
            return each
    message = tr("There is no chapter “{name}”. Chapters: {known}.")
    raise UsageError(
        message.format(name=plain_name(name), known=", ".join(known)), hint=did_you_mean(name[:80], known)
    )


def plain_name(name: str) -> str:
    """Return a typed name, shortened and without terminal control characters."""
    return "".join(each for each in name[:40] if each.isprintable())


@cache
def chapter_text(chapter: Chapter, commands: Callable[[], str]) -> str:
    """Return a chapter as Markdown, with its tables.

    Args:
        chapter: the chapter.
        commands: returns the commands of the program, as Markdown.
    """
    filled = {**FILLED, COMMANDS: commands}
    title, *lines = chapter.path.read_text(encoding="utf-8").split("\n")
    if LANGUAGE != ENGLISH:
        title += "\n\n" + tr(
            "This chapter is in English. Parts that pgFooting generates may be in your language."
        )
    return "\n".join([title, *(filled[line]() if line in filled else line for line in lines)])


def chapter_title(chapter: Chapter) -> str:
    """Return the first heading of a chapter, without filling tables."""
    with chapter.path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("# ").rstrip("\n")
