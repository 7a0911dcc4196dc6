"""Match outputs and logs of one folder that belong to the same run; ambiguous ones stay separate.

pgbench names its logs PREFIX.PID and PREFIX.PID.THREAD, and prints its pid nowhere else. One output and one
log match. With several, a log belongs to the output with its number of transactions, or with its name; one
that fits none or several stays alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.text import tr
from app.importers.files.members import ForeignFile
from app.importers.formats.outputs import PgbenchOutput
from app.importers.formats.transaction_logs import LogSurvey, survey_log
from app.importers.runs.discovery import SkippedFile

_NUMBERED: Final = re.compile(r"(.+?)\.(\d+)(?:\.(\d+))?")
_ALIKE: Final = 0.02
"""Greatest relative difference of the clients' counters in a sampled log from the summary's transactions."""


@dataclass(frozen=True, slots=True)
class ThreadLogs:
    """The logs of one pgbench.

    Attributes:
        name: without the number of the thread.
        stem: of the name, without pid and ending.
        members: one per thread, in order.
        is_aggregated: lines of intervals instead of transactions.
    """

    name: str
    stem: str
    members: tuple[ForeignFile, ...]
    is_aggregated: bool

    def survey(self) -> LogSurvey | None:
        """Return the facts from the ends; None for an aggregated log or one without a whole line."""
        return None if self.is_aggregated else survey_log(self.members)


@dataclass(frozen=True, slots=True)
class OutputWithLogs:
    """An output, a log, or both, of one run."""

    output: PgbenchOutput | None
    log: ThreadLogs | None


def group_logs(members: Iterable[ForeignFile], *, is_aggregated: bool) -> list[ThreadLogs]:
    """Return the logs of each pgbench, in order of their names."""
    by_name = {
        (member.disk.parent, member.inner.rpartition("/")[0], member.name): member for member in members
    }
    groups: dict[tuple[object, ...], dict[int, ForeignFile]] = {}
    for (folder, inside, name), member in by_name.items():
        match = _NUMBERED.fullmatch(name)
        base, thread = name, 0
        if match and match[3]:
            base, thread = f"{match[1]}.{match[2]}", int(match[3])
        elif match and (folder, inside, match[1]) in by_name:
            base, thread = match[1], int(match[2])
        groups.setdefault((folder, inside, base), {})[thread] = member
    return [
        ThreadLogs(
            str(key[2]), _stem(str(key[2])), tuple(group[thread] for thread in sorted(group)), is_aggregated
        )
        for key, group in sorted(groups.items(), key=lambda item: str(item[0]))
    ]


def _stem(name: str) -> str:
    match = re.fullmatch(r"(.+)\.\d+", name)
    return (match[1] if match else name).removesuffix(".log")


def join_outputs(outputs: Sequence[PgbenchOutput]) -> list[PgbenchOutput]:
    """Return the outputs, with separate stdout and stderr of the same run joined."""
    summaries = [each for each in outputs if each.summary and not each.progress]
    streams = [each for each in outputs if not each.summary and not each.problem]
    joined: list[PgbenchOutput] = [each for each in outputs if each not in summaries and each not in streams]
    for summary in summaries:
        near = [each for each in streams if _name_stem(each.file) == _name_stem(summary.file)]
        if len(summaries) == len(streams) == 1:
            near = list(streams)
        if len(near) == 1:
            streams.remove(near[0])
            joined.append(summary.joined(near[0]))
        else:
            joined.append(summary)
    return [*joined, *streams]


def _name_stem(file: str) -> str:
    name = file.rpartition("/")[2]
    return name.rpartition(".")[0] or name


def pair_up(
    outputs: Sequence[PgbenchOutput], logs: Sequence[ThreadLogs], left: list[SkippedFile]
) -> list[OutputWithLogs]:
    """Return the matches of one folder, with every output and log once."""
    if len(outputs) <= 1 and len(logs) <= 1:
        return [OutputWithLogs(outputs[0] if outputs else None, logs[0] if logs else None)]
    free = list(outputs)
    pairs: list[OutputWithLogs] = []
    for log in logs:
        fitting = [each for each in free if _name_stem(each.file) == log.stem] or _alike(log, free)
        if len(fitting) == 1:
            free.remove(fitting[0])
            pairs.append(OutputWithLogs(fitting[0], log))
        else:
            pairs.append(OutputWithLogs(None, log))
            if free:
                reason = tr(
                    "which of the {count} outputs beside it belongs to it cannot be told: imported alone"
                )
                left.append(SkippedFile(log.members[0].shown_path, reason.format(count=len(free))))
    return [*pairs, *(OutputWithLogs(output, None) for output in free)]


def _alike(log: ThreadLogs, outputs: Sequence[PgbenchOutput]) -> list[PgbenchOutput]:
    survey = log.survey()
    if survey is None:
        return []
    return [
        each
        for each in outputs
        if each.summary
        and each.summary.transactions
        and abs(survey.counted / (each.summary.transactions + (each.summary.failed or 0)) - 1) < _ALIKE
    ]
