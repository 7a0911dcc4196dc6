"""Names of files that are no UTF-8, as text that can be stored and printed everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from app.importers.runs.foreign_run import ForeignEvent, ForeignRun
from app.runfile.metadata.run_metadata import read_metadata
from app.runfile.metadata.typed_json import values_of
from app.runfile.writer import Json


def shown(text: str) -> str:
    r"""Return a text in which a byte that is no UTF-8 is written as four characters, such as ``\xff``."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def shown_json(value: Json) -> Json:
    """Return a JSON value with all its texts so."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, Mapping):
        return {shown(key): shown_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [shown_json(item) for item in value]
    return value


def shown_run(run: ForeignRun) -> ForeignRun:
    """Return a run with all its texts so."""
    return replace(
        run,
        name=shown(run.name),
        campaign=shown(run.campaign),
        folder=shown(run.folder),
        metadata=read_metadata({key: shown_json(value) for key, value in values_of(run.metadata).items()}),
        facts={key: shown_json(value) for key, value in run.facts.items()},
        events=[ForeignEvent(each.t_s, each.kind, shown(each.message), each.data) for each in run.events],
        outputs={name: shown(text) for name, text in run.outputs.items()},
        marks=[(kind, shown(reason)) for kind, reason in run.marks],
        missing=[(source, shown(reason)) for source, reason in run.missing],
        notes=[shown(note) for note in run.notes],
    )
