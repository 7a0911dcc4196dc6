"""What a run measured, in a few lines for people."""

from __future__ import annotations

from datetime import datetime

from app.domain.text import tr
from app.domain.units import format_duration, format_size
from app.runfile.metadata.environment import EnvironmentFacts
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import NotKnown, known, or_none


def _started(epoch_s: float | None) -> str:
    if epoch_s is None:
        return ""
    try:
        return datetime.fromtimestamp(epoch_s).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")
    except (ValueError, OverflowError, OSError):
        return ""


def _bracketed(text: str) -> str:
    return f" ({text})" if text else ""


def _server(run: RunMetadata) -> str:
    version, folder = known(run.installation.version, ""), known(run.installation.folder, "")
    return f"PostgreSQL {version}{_bracketed(folder)}" if version or folder else ""


def _settings(run: RunMetadata) -> str:
    chosen = run.postgresql
    if isinstance(chosen.preset, NotKnown):
        return ""
    checksums = tr("on") if or_none(chosen.checksums) else tr("off")
    return tr("preset {preset}, checksums {checksums}").format(preset=chosen.preset, checksums=checksums)


def _by_filesystem(run: RunMetadata) -> str:
    """Return the server settings that preset or options of the filesystem gave."""
    given = (each for each in known(run.settings, ()) if each.origin == "filesystem")
    return ", ".join(f"{each.name}={each.value}" for each in given)


def _workload(run: RunMetadata) -> str:
    label, protocol = known(run.workload.label, ""), known(run.workload.protocol, "")
    if not protocol:
        return label
    return tr("{label}, protocol {protocol}").format(label=label, protocol=protocol)


def _scale(run: RunMetadata) -> str:
    scale, size = or_none(run.scale), or_none(run.data_bytes)
    if scale is None:
        return "" if size is None else format_size(size)
    return f"{scale}{_bracketed('' if size is None else format_size(size))}"


def _clients(run: RunMetadata) -> str:
    clients, threads = or_none(run.workload.clients), or_none(run.workload.threads)
    if clients is None or threads is None:
        return "" if clients is None else str(clients)
    return tr("{clients} in {threads} threads").format(clients=clients, threads=threads)


def _length(run: RunMetadata) -> str:
    seconds, count = or_none(run.workload.duration_s), or_none(run.workload.transactions)
    if seconds is not None:
        return format_duration(seconds)
    return "" if count is None else tr("{count} transactions a client").format(count=count)


def configuration_rows(run: RunMetadata, environment: EnvironmentFacts) -> tuple[tuple[str, str], ...]:
    """Return (label, value) of target, server and workload; a value is empty where it is unknown."""
    warmup_s = or_none(run.workload.warmup_s)
    return (
        (tr("campaign"), known(run.campaign, "")),
        (tr("started"), _started(or_none(run.started_epoch_s))),
        (tr("target"), f"{known(run.target.kind, '')} {known(run.target.path, '')}".strip()),
        (tr("filesystem"), environment.filesystem),
        (tr("server"), _server(run)),
        (tr("settings"), _settings(run)),
        (tr("by the filesystem"), _by_filesystem(run)),
        (tr("workload"), _workload(run)),
        (tr("scale"), _scale(run)),
        (tr("clients"), _clients(run)),
        (tr("length"), _length(run)),
        (tr("warm-up"), "" if warmup_s is None else format_duration(warmup_s)),
    )
