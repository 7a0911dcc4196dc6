"""Convert a table of seconds into a run; see `app.importers.formats.time_tables` for the format."""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np

from app.domain.errors import ForeignDataError
from app.domain.json_value import Json
from app.domain.text import tr
from app.importers.files.members import ForeignFile, opened
from app.importers.formats.storage_texts import LEVELS
from app.importers.formats.time_tables import TimeTable, read_time_table
from app.importers.runs.assemble import campaign_name
from app.importers.runs.discovery import ScanResult
from app.importers.runs.foreign_run import Array, ForeignRun, ForeignSeries
from app.importers.runs.log_series import TPS
from app.importers.runs.timeline import missing_between_reports
from app.runfile.metadata.run_metadata import (
    IMPORTED,
    ImportMetadata,
    InstallationMetadata,
    RunMetadata,
    TargetMetadata,
    WorkloadMetadata,
)
from app.runfile.metadata.typed_json import NOT_KNOWN, if_known

_WHOLE_KEYS: Final = ("scale", "clients", "threads")


def table_run(member: ForeignFile, tree: ScanResult) -> ForeignRun:
    """Return the run of a table.

    Raises:
        ForeignDataError: the table deviates from the format, or has no TPS.
    """
    table = _read(member)
    given = table.given
    if TPS not in table.series and "tps" not in given:
        message = tr("{file}: neither a column tps nor a line “# tps: …”.")
        raise ForeignDataError(message.format(file=member.shown_path))
    configuration = given.get("name") or member.disk.stem
    folder = "/".join((tree.root.name, *member.disk.parent.relative_to(tree.root).parts))
    duration_s = float(given.get("duration_s", table.t_s[-1]))
    reason = tr("measured elsewhere, not by pgFooting: {path}").format(path=member.shown_path)
    return ForeignRun(
        digest=hashlib.sha256(f"{member.size}\n".encode() + member.head + member.tail).hexdigest(),
        name=f"{configuration} #1",
        campaign=campaign_name(folder),
        folder=folder,
        started_epoch_s=float(given["started"]) if "started" in given else None,
        duration_s=duration_s,
        metadata=_metadata(table, member, configuration),
        facts=_facts(table),
        series=[_series(metric, table, values) for metric, values in table.series.items()],
        marks=[(IMPORTED, reason)],
        missing=_missing(table),
    )


def _read(member: ForeignFile) -> TimeTable:
    for _, stream in opened([member]):
        return read_time_table(stream, member.shown_path)
    raise ForeignDataError(tr("{file} is not there any more.").format(file=member.shown_path))


def _series(metric: str, table: TimeTable, values: Array) -> ForeignSeries:
    known = np.isfinite(values)
    return ForeignSeries(metric, table.t_s[known], values[known], tr("table of seconds"))


def _metadata(table: TimeTable, member: ForeignFile, configuration: str) -> RunMetadata:
    given = table.given
    whole = {key: int(given[key]) for key in _WHOLE_KEYS if key in given}
    raid = given.get("raid", "").lower()
    printed: dict[str, Json] = {"tps": float(given["tps"])} if "tps" in given else {}
    if printed and "transactions" in given:
        printed["transactions"] = int(given["transactions"])
    return RunMetadata(
        configuration=configuration,
        campaign_folder=str(member.disk),
        repeat=0,
        number=1,
        target=TargetMetadata(kind=IMPORTED, path="", raid=LEVELS.get(raid, given.get("raid")) or None),
        workload=WorkloadMetadata(
            label=if_known(given.get("workload")),
            clients=if_known(whole.get("clients")),
            threads=if_known(whole.get("threads")),
        ),
        scale=whole.get("scale"),
        installation=InstallationMetadata(version=given.get("postgresql", ""), folder="", origin=IMPORTED),
        imported=ImportMetadata(
            path=member.shown_path, files=(member.shown_path,), note=given.get("note", "")
        ),
        pgbench=printed or NOT_KNOWN,
    )


def _facts(table: TimeTable) -> dict[str, Json]:
    given = table.given
    facts: dict[str, Json] = {}
    if "filesystem" in given:
        options = [option for option in given.get("mount_options", "").split(",") if option]
        facts["storage"] = {"mount": {"filesystem": given["filesystem"], "options": options}}
    machine = {
        name: given[key] for key, name in (("machine", "name"), ("storage", "storage")) if key in given
    }
    if machine:
        facts["machine"] = machine
    if "processor" in given:
        facts["processor"] = {"info": {"model_name": given["processor"]}}
    if "kernel" in given:
        facts["kernel"] = {"release": given["kernel"]}
    return facts


def _missing(table: TimeTable) -> list[tuple[str, str]]:
    missing = [
        (tr(what), tr("the table does not tell it"))
        for key, what in (
            ("filesystem", "filesystem"),
            ("postgresql", "version of the server"),
            ("machine", "machine"),
            ("workload", "workload"),
        )
        if key not in table.given
    ]
    if TPS in table.series:
        missing += missing_between_reports(table.t_s)
    else:
        missing.append((tr("TPS by the second"), tr("the table has no column tps")))
    if not any(metric.startswith("latency.p") for metric in table.series):
        missing.append((tr("latency percentiles"), tr("the table has none")))
    return missing
