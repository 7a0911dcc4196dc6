"""Pages of single configurations, and the files attached to a PDF.

Also the properties common to all runs of a report (workload, server, settings, storage, machine), without
those that were not chosen and differ on no machine, which are in a file attached to the PDF
(`app.report.pages.configuration_pages`); and the end of a report: its runs, and the exact commands. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from app.analysis.facts import command_line
from app.analysis.labels import format_tps, one_line, some
from app.analysis.properties import MACHINE, POSTGRESQL, SETTING, TARGET, WORKLOAD, Property
from app.domain.columns import CellKind, Column, without
from app.domain.quoting import comment, shell_word
from app.domain.text import titled, tr
from app.report.blocks import (
    Attachment,
    Block,
    Facts,
    ReportTable,
    TableRow,
    TableSize,
    Text,
    TextRole,
    Together,
    plain_table,
)
from app.report.findings import Findings
from app.report.report_data import ReportedConfiguration, ReportedRun, clip
from app.report.run_tables import (
    MOST_LINES,
    baseline_blocks,
    compression_table,
    cost_table,
    details,
    devices_sentence,
    moment,
    sources,
    speed_table,
    state_cell,
    table_size,
)
from app.runfile.disturbance import DISTURBED
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE

# Attach files to a PDF: every recorded fact, every executed command. Pure.
#
# They contain details too long for paper. Names are those of the report, anonymised if it is.


FACTS_NAME: Final = "facts.json"
COMMANDS_NAME: Final = "commands.txt"


def attachments(runs: Sequence[ReportedRun]) -> tuple[Attachment, ...]:
    """Return the files of a report; empty if the runs have no such content."""
    found = []
    if any(run.facts.environment for run in runs):
        words = tr("All facts about the machine, read before each run")
        found.append(Attachment(FACTS_NAME, words, "application/json", _facts(runs)))
    if any(run.facts.commands for run in runs):
        words = tr("Every command of each run, in order")
        found.append(Attachment(COMMANDS_NAME, words, "text/plain", "\n".join(_command_lines(runs)) + "\n"))
    return tuple(found)


def command_lines(run: ReportedRun) -> list[str]:
    """Return the commands of a run in shell syntax, each with the account that executed it."""
    return [
        f"{shell_word(command.account)}$ {command_line(command)}"
        + (tr("  -> status {status}").format(status=command.exit_code) if command.exit_code else "")
        for command in run.facts.commands
    ]


def _facts(runs: Sequence[ReportedRun]) -> str:
    """Return facts as JSON: those common to all runs once, then those of each run."""
    read = [run.facts.environment for run in runs]
    tables = {each: {name: one_line(value) for name, value in each} for each in dict.fromkeys(read)}
    first, *others = tables.values()
    shared = {name: value for name, value in first.items() if all(each.get(name) == value for each in others)}
    whole = {
        "all": shared,
        "runs": {
            run.name: {
                "name": one_line(run.facts.name),
                "id": one_line(run.facts.id),
                "facts": {name: value for name, value in tables[each].items() if name not in shared},
            }
            for run, each in zip(runs, read, strict=True)
        },
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _command_lines(runs: Sequence[ReportedRun]) -> Iterator[str]:
    for run in runs:
        yield comment(run.name)
        yield from command_lines(run)
        yield ""


MOST_OF_A_VALUE: Final = 240
"""Most letters of a value: the build options would fill half a page; the attached facts have the whole text.
"""

_TOPICS: Final = (MACHINE, TARGET, POSTGRESQL, SETTING, WORKLOAD)
_HEADINGS: Final = {SETTING: tr("Settings other than the server's defaults")}


def environment(runs: Sequence[ReportedRun], *, differences: bool) -> Iterator[Block]:
    """Yield the properties common to all runs, by topic or in one list for many, and what is unavailable.

    Args:
        runs: of the report.
        differences: whether another page of it lists the differences.
    """
    shared = shared_properties(runs)
    if not shared:
        yield Text(TextRole.BODY, tr("No known value is the same for all runs."))
    if len(runs) > _MANY:
        yield Facts(
            tuple((f"{item.topic}: {name}", value) for item in shared for name, value in (_pair(item),))
        )
        shared = ()
    for topic in dict.fromkeys((*_TOPICS, *(item.topic for item in shared))):
        pairs = tuple(_pair(item) for item in shared if item.topic == topic)
        if pairs:
            yield Text(TextRole.SUBHEADING, _HEADINGS.get(topic, topic))
            yield Facts(pairs)
    if differences and len(runs) > 1:
        yield Text(TextRole.NOTE, tr("Values that differ between runs are under “Differences”."))
    if any(run.facts.environment for run in runs):
        sentence = tr("All other facts about the machine are in the file {name}, attached to this PDF.")
        yield Text(TextRole.NOTE, sentence.format(name=FACTS_NAME))
    yield from _unavailable(runs)


def shared_properties(runs: Sequence[ReportedRun]) -> tuple[Property, ...]:
    """Return the properties that all runs have with the same value."""
    tables = [{item.key: item.value for item in run.facts.properties} for run in runs]
    return tuple(
        item
        for item in runs[0].facts.properties
        if all(table.get(item.key) == item.value for table in tables)
    )


def _pair(item: Property) -> tuple[str, str]:
    return one_line(item.name), clip(one_line(item.value), MOST_OF_A_VALUE)


def _unavailable(runs: Sequence[ReportedRun]) -> Iterator[Block]:
    """Yield the unavailable series, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for source, reason in dict.fromkeys(pair for run in runs for pair in run.facts.unavailable):
        reasons.setdefault(one_line(reason), []).append(one_line(source))
    if reasons:
        yield Text(TextRole.SUBHEADING, tr("Not measured"))
    for reason, names in reasons.items():
        yield Text(TextRole.NOTE, f"{', '.join(names)}: {reason}.")


_TITLE: Final = tr("Each configuration")
_LINES: Final = tr(
    "Charts: thin line, each second; thick line, 15 s mean (display only); shaded, stalled seconds; dotted "
    "line, start of a checkpoint."
)


def configuration_pages(found: Findings) -> Iterator[Block]:
    """Yield every configuration, each on a page; nothing for many, which the tables show."""
    if len(found.configurations) > MOST_LINES:
        return
    head: tuple[Block, ...] = (
        Text(TextRole.HEADING, _TITLE, bookmark=_TITLE, new_page=True),
        Text(TextRole.NOTE, " ".join((_LINES, devices_sentence(found.runs))).strip()),
    )
    for configuration in found.configurations:
        yield Together((*head, *_whole(configuration)))
        head = ()


def _whole(configuration: ReportedConfiguration) -> Iterator[Block]:
    yield from _begin(configuration)
    yield speed_table(configuration.runs)
    yield from cost_table(configuration.runs)
    yield from compression_table(configuration.runs)
    yield from baseline_blocks(configuration)
    yield from _sentences(configuration)
    yield from _with_source(configuration, details(configuration))


def _begin(configuration: ReportedConfiguration) -> Iterator[Block]:
    title = configuration.full_name
    yield Text(TextRole.SUBHEADING, title, bookmark=title, level=1)
    for reason in (*configuration.not_durable, *configuration.unsafe):
        yield Text(TextRole.WARNING, f"{configuration.warning}: {one_line(reason)}")


def _with_source(configuration: ReportedConfiguration, figures: tuple[Block, ...]) -> Iterator[Block]:
    yield from figures
    if figures:
        yield Text(TextRole.NOTE, sources([configuration.shown]))


def _sentences(configuration: ReportedConfiguration) -> Iterator[Block]:
    """Yield findings about the seconds of the shown run, and for each run those beyond its figures."""
    runs, shown = configuration.runs, configuration.shown
    for run in runs:
        sentences = list(run.compared.sentences) if run is shown else []
        if run.compared.left_out:
            sentences.insert(0, tr("Excluded from the comparison: {why}.").format(why=run.compared.left_out))
        if run.facts.error:
            sentences.insert(0, one_line(run.facts.error))
        sentences += [
            f"{one_line(reason)[:1].upper()}{one_line(reason)[1:]}."
            for kind, reason in run.facts.marks
            if kind not in {UNSAFE, NOT_DURABLE} and reason and not (run is shown and kind == DISTURBED)
        ]
        if sentences:
            yield Text(TextRole.NOTE, f"{run.name}: {' '.join(sentences)}")


_NUMBERS: Final = re.compile(r"[0-9a-f]{8,}|\d+")


def run_list(found: Findings) -> Iterator[Block]:
    """Yield the list of runs, a line each."""
    runs = found.runs
    yield Text(TextRole.HEADING, titled(tr("runs")), bookmark=titled(tr("runs")), new_page=len(runs) <= _MANY)
    if len(runs) > _MANY:
        yield from _brief_runs(found)
        return
    columns: tuple[Column[ReportedRun], ...] = _RUN_COLUMNS
    if len({run.facts.campaign for run in runs}) < 2:
        columns = without(columns, [_CAMPAIGN])
    table = plain_table(columns, runs, size=table_size(len(runs)))
    yield replace(table, lines=1)


def _brief_runs(found: Findings) -> Iterator[ReportTable]:
    """Yield name, TPS and identity of many runs below the name of their condition, in several columns."""
    lines = []
    for condition in found.conditions:
        lines += [(condition.name, "", "")] if condition.name else []
        places = condition.places
        for each in condition.configurations:
            for number, run in enumerate(each.runs, 1):
                name = places.get(each.full_name, each.name)
                name = f"{name} #{number}" if len(each.runs) > 1 else name
                tps = format_tps(run.compared.figures.get("tps"))
                lines.append((name, tps, one_line(run.facts.id[:6])))
    columns = tuple(
        Column(f"{place}.{part}", heading, str, kind)
        for place in range(_BESIDE)
        for part, (heading, kind) in enumerate(_BRIEF)
    )
    for start in range(0, min(len(lines), _MOST_LISTED), _BESIDE * _HIGHEST):
        here = lines[start : start + _BESIDE * _HIGHEST]
        height = -(-len(here) // _BESIDE)
        rows = []
        for number in range(height):
            beside = [*here[number::height], *[("", "", "")] * _BESIDE][:_BESIDE]
            cells = {
                f"{place}.{part}": text for place, line in enumerate(beside) for part, text in enumerate(line)
            }
            heads = frozenset(f"{place}.0" for place, line in enumerate(beside) if not line[2])
            rows.append(TableRow(cells, best=heads))
        yield ReportTable(columns, tuple(rows), lines=1, size=TableSize.DENSE)


def command_pages(found: Findings) -> Iterator[Block]:
    """Yield the commands of all runs; those that differ only in numbers appear once."""
    yield Text(TextRole.HEADING, tr("Exact commands"), bookmark=tr("Exact commands"), new_page=True)
    if not any(run.facts.commands for run in found.runs):
        yield Text(
            TextRole.BODY,
            tr("None known, for example because the runs were imported."),
        )
        return
    by_commands: dict[tuple[str, ...], list[ReportedRun]] = {}
    for run in found.runs:
        by_commands.setdefault(tuple(_NUMBERS.sub("#", line) for line in command_lines(run)), []).append(run)
    for runs in by_commands.values():
        yield from _commands(runs)


def _commands(runs: Sequence[ReportedRun]) -> Iterator[Block]:
    """Yield the commands of the first of these runs, and the other runs that share them."""
    first, lines = runs[0], command_lines(runs[0])
    if not lines:
        names = some([run.name for run in runs], _MOST_NAMES)
        yield Text(TextRole.NOTE, tr("{names}: no commands in the run files.").format(names=names))
        return
    yield Text(TextRole.SUBHEADING, first.name)
    if len(runs) > 1:
        sentence = tr("The same commands with other seeds, folders and names: {names}.")
        yield Text(TextRole.NOTE, sentence.format(names=some([run.name for run in runs[1:]], _MOST_NAMES)))
    for line in lines:
        yield Text(TextRole.CODE, line)


_MOST_NAMES: Final = 3
_CAMPAIGN: Final = "campaign"
_MANY: Final = 60
"""More runs than this are listed in several columns."""
_BESIDE: Final = 3
_HIGHEST: Final = 74
"""Most lines of a table of runs: a page."""
_MOST_LISTED: Final = 1200

_RUN_COLUMNS: Final[tuple[Column[ReportedRun], ...]] = (
    Column("name", tr("Run"), lambda run: one_line(run.facts.name), CellKind.WORDS),
    Column(_CAMPAIGN, tr("Campaign"), lambda run: one_line(run.facts.campaign), CellKind.WORDS),
    Column("tps", "TPS", lambda run: format_tps(run.compared.figures.get("tps"))),
    Column("file", tr("File"), lambda run: one_line(run.facts.path.rpartition("/")[-1]), CellKind.WORDS),
    Column("identity", tr("Identity"), lambda run: one_line(run.facts.id[:16]), CellKind.LABEL),
    Column("started", tr("Started"), lambda run: moment(run.facts.started_epoch_s), CellKind.LABEL),
    Column("marks", tr("Marks"), state_cell, CellKind.WORDS),
)
_BRIEF: Final = (
    (tr("Run"), CellKind.WORDS),
    ("TPS", CellKind.NUMBER),
    (tr("Id"), CellKind.LABEL),
)
