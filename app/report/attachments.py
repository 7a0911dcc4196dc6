"""Attach files to a PDF: every recorded fact, every executed command. Pure.

They contain details too long for paper. Names are those of the report, anonymised if it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from app.analysis.facts import command_line
from app.analysis.labels import one_line
from app.domain.quoting.shell import comment, shell_word
from app.domain.text import tr
from app.report.blocks import Attachment
from app.report.report_data import ReportedRun

FACTS_NAME: Final = "facts.json"
COMMANDS_NAME: Final = "commands.txt"


def attachments(runs: Sequence[ReportedRun]) -> tuple[Attachment, ...]:
    """Return the files of a report; empty if the runs have no such content."""
    found = []
    if any(run.facts.environment for run in runs):
        words = tr("Everything that was read of the machine before each run")
        found.append(Attachment(FACTS_NAME, words, "application/json", _facts(runs)))
    if any(run.facts.commands for run in runs):
        words = tr("Every command of each run, in order")
        found.append(Attachment(COMMANDS_NAME, words, "text/plain", "\n".join(_commands(runs)) + "\n"))
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
    tables = [{name: one_line(value) for name, value in run.facts.environment} for run in runs]
    shared = {
        name: value for name, value in tables[0].items() if all(table.get(name) == value for table in tables)
    }
    whole = {
        "all": shared,
        "runs": {
            run.name: {
                "name": one_line(run.facts.name),
                "id": one_line(run.facts.id),
                "facts": {name: value for name, value in table.items() if name not in shared},
            }
            for run, table in zip(runs, tables, strict=True)
        },
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _commands(runs: Sequence[ReportedRun]) -> Iterator[str]:
    for run in runs:
        yield comment(run.name)
        yield from command_lines(run)
        yield ""
