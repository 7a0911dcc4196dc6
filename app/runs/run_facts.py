"""What a run file says of its run in words: properties that may differ between runs, and everything else.

A property is what somebody chose or what the machine was; figures and times are none. The facts panel and
the report show them, `app.runs.differences` compares them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.domain.text import tr
from app.domain.units import format_duration, format_size
from app.hosts.host import ROOT_STEP
from app.runs.library import effective_state
from app.runs.library_facets import tags_of
from app.runs.run_shape import RunShape, read_shape
from app.runs.runfile import Json
from app.runs.runfile_reader import CommandRecord, RunFile

_ROOT: Final = "root"
PGBENCH: Final = tr("pgbench")
"""Name of the property that holds pgbench's version."""

_ZFS_PROPERTIES: Final = (
    "recordsize",
    "compression",
    "checksum",
    "sync",
    "logbias",
    "redundant_metadata",
    "primarycache",
    "atime",
    "relatime",
    "xattr",
)
"""Properties of a dataset that somebody chooses; the others are sizes and names."""
_LONGEST: Final = 2000
"""Characters of one value that are shown: a run file may come from anybody."""


@dataclass(frozen=True, slots=True)
class Property:
    """One thing that was chosen or found.

    Attributes:
        topic: heading under which it stands.
        name: what people read; unique within its topic.
        value: as text; never empty.
    """

    topic: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run in words.

    Attributes:
        path: of the run file.
        id: hexadecimal identity; empty where the file has none.
        name: of the run: configuration and repeat.
        campaign: name of its campaign.
        campaign_key: the same for runs of one campaign only.
        configuration: name of its configuration.
        repeat: 0-based.
        state: how far it came, see `RunState`.
        error: why it failed; empty where it did not.
        started_epoch_s: seconds since the epoch; None where unknown.
        marks: (kind, reason) labels.
        properties: what was chosen and what the machine was.
        summary: figures, see app/runs/summary.py.
        commands: every program that was executed, and what root did without one, in order; see
            `command_line`.
        environment: dotted name and value of every fact that was read before the run.
        unavailable: (source, reason) of series that do not exist.
        shape: how its measured phase went; None where there is nothing of it.
        tags: that people gave it.
        note: that people wrote.
    """

    path: str
    id: str
    name: str
    campaign: str
    campaign_key: str
    configuration: str
    repeat: int
    state: str
    error: str
    started_epoch_s: float | None
    marks: tuple[tuple[str, str], ...]
    properties: tuple[Property, ...]
    summary: dict[str, float | None]
    commands: tuple[CommandRecord, ...]
    environment: tuple[tuple[str, str], ...]
    unavailable: tuple[tuple[str, str], ...]
    shape: RunShape | None = field(default=None, repr=False, compare=False)
    tags: tuple[str, ...] = ()
    note: str = ""


def read_run_facts(path: Path) -> RunFacts:
    """Read one run file.

    Raises:
        RunFileError: it cannot be read.
    """
    with RunFile(path) as run:
        values, facts = run.values, run.facts("before")
        repeat, started = values.get("repeat"), values.get("started_epoch_s")
        return RunFacts(
            tags=tags_of(values),
            note=_text(values.get("note")),
            path=str(path),
            id=_text(values.get("id")),
            name=_text(values.get("name")) or path.stem,
            campaign=_text(values.get("campaign")),
            campaign_key=_text(values.get("campaign_folder")) or str(path.parent),
            configuration=_text(values.get("configuration")),
            repeat=repeat if isinstance(repeat, int) else 0,
            state=effective_state(path, run.state).value,
            error=_error(values.get("error")),
            started_epoch_s=float(started) if isinstance(started, int | float) else None,
            marks=run.marks(),
            properties=tuple(_properties(values, facts)),
            summary=run.summary(),
            commands=_executed(run),
            environment=tuple(_flat(facts)),
            unavailable=tuple((source, reason) for _, source, reason in run.unavailable()),
            shape=read_shape(run),
        )


def _executed(run: RunFile) -> tuple[CommandRecord, ...]:
    """Return the programs of a run and, among them, what root did itself, such as wiping what it signed."""
    own = [
        CommandRecord(event.t_ms, 0, _ROOT, (event.message,), None, "", "")
        for event in run.events()
        if event.kind == ROOT_STEP
    ]
    return tuple(sorted((*run.commands(), *own), key=lambda each: each.started_ms))


def command_line(command: CommandRecord) -> str:
    """Return a command as it could be typed, or as a comment what root did without a program."""
    if command.exit_code is None:
        return f"# {' '.join(command.argv)}"
    return shlex.join(command.argv)


def _dict(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _text(value: Json) -> str:
    return value[:_LONGEST] if isinstance(value, str) else ""


def _error(value: Json) -> str:
    told = _dict(value)
    return " ".join(part for part in (_text(told.get("message")), _text(told.get("hint"))) if part)


def _value(value: Json, name: str = "") -> str:
    """Return a JSON value as people read it; empty where there is nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return tr("yes") if value else tr("no")
    if isinstance(value, str):
        return value[:_LONGEST]
    if isinstance(value, Sequence | Mapping):
        return _nested(value)[:_LONGEST]
    return _number(value, name)


def _number(value: float, name: str) -> str:
    if name.endswith("_bytes"):
        return format_size(value)
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.6g}"


def _nested(value: Sequence[Json] | Mapping[str, Json]) -> str:
    if not isinstance(value, Mapping):
        return ", ".join(part for part in map(_value, value) if part)
    unreadable = value.get("unreadable")
    if isinstance(unreadable, str):
        return tr("not known: {reason}").format(reason=unreadable)
    return ", ".join(f"{key} {_value(item, key)}" for key, item in value.items())


def _flat(facts: dict[str, Json], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield dotted names and values, branch by branch."""
    for key, value in facts.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value and "unreadable" not in value:
            yield from _flat(value, f"{name}.")
        elif text := _value(value, key):
            yield name, text


def _properties(values: dict[str, Json], facts: dict[str, Json]) -> Iterator[Property]:
    for topic, pairs in (
        (tr("Target"), _target(values, _dict(facts.get("storage")))),
        (tr("Workload"), _workload(values)),
        (tr("PostgreSQL"), _postgresql(values)),
        (tr("Setting"), _settings(values)),
        (tr("Machine"), _machine(facts)),
    ):
        yield from (Property(topic, name, value) for name, value in pairs if value)


Pairs = Iterator[tuple[str, str]]


def _target(values: dict[str, Json], storage: dict[str, Json]) -> Pairs:
    target, mount = _dict(values.get("target")), _dict(storage.get("mount"))
    yield tr("kind"), _text(target.get("kind"))
    yield tr("RAID"), _value(target.get("raid"))
    if not mount.get("in_memory"):
        yield tr("path"), _text(target.get("path"))
    yield tr("filesystem"), _text(mount.get("filesystem"))
    options = [*_list(mount.get("options")), *_list(mount.get("super_options"))]
    yield tr("mount options"), ",".join(dict.fromkeys(options))
    dataset = _dict(_dict(storage.get("filesystem")).get("dataset"))
    yield tr("dataset"), ", ".join(f"{name}={dataset[name]}" for name in _ZFS_PROPERTIES if name in dataset)
    devices = _dict(storage.get("devices"))
    for name, device in devices.items():
        yield tr("device {name}").format(name=name), _device(_dict(device))


def _list(value: Json) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _device(device: dict[str, Json]) -> str:
    """Return kind, model, size, scheduler and write cache of a block device."""
    model = _text(_dict(device.get("identity")).get("model")).strip()
    size = device.get("size_bytes")
    cache = _text(_dict(device.get("queue")).get("write_cache"))
    parts = [
        _text(device.get("kind")),
        model,
        format_size(size) if isinstance(size, int | float) else "",
        _text(device.get("scheduler")),
        tr("cache {mode}").format(mode=cache) if cache else "",
    ]
    return ", ".join(part for part in parts if part)


def _workload(values: dict[str, Json]) -> Pairs:
    workload = _dict(values.get("workload"))
    yield tr("transactions"), _text(workload.get("label"))
    yield tr("clients"), _value(workload.get("clients"))
    yield tr("threads"), _value(workload.get("threads"))
    yield tr("scale"), _value(values.get("scale"))
    data_bytes = values.get("data_bytes")
    yield tr("data"), format_size(data_bytes) if isinstance(data_bytes, int | float) else ""
    for key, name in (("duration_s", tr("measured time")), ("warmup_s", tr("warm-up"))):
        seconds = workload.get(key)
        yield name, format_duration(seconds) if isinstance(seconds, int | float) else ""
    yield tr("transactions per client"), _value(workload.get("transactions"))
    yield tr("protocol"), _text(workload.get("protocol"))
    yield tr("rate limit per second"), _value(workload.get("rate_tps"))
    yield tr("latency limit, ms"), _value(workload.get("latency_limit_ms"))


def _postgresql(values: dict[str, Json]) -> Pairs:
    installation, chosen = _dict(values.get("installation")), _dict(values.get("postgresql"))
    yield tr("version"), _text(installation.get("version"))
    yield tr("installation"), _text(installation.get("folder"))
    yield tr("build"), _text(installation.get("sha256"))[:12]
    yield PGBENCH, _text(_dict(values.get("pgbench")).get("version"))
    yield tr("preset"), _text(chosen.get("preset"))
    yield tr("checksums"), _value(chosen.get("checksums"))


def _settings(values: dict[str, Json]) -> Pairs:
    settings = values.get("settings")
    for setting in settings if isinstance(settings, list) else []:
        told = _dict(setting)
        if told.get("origin") != "pgfooting" and (name := _text(told.get("name"))):
            yield name, _text(told.get("value")) or tr("(empty)")


def _machine(facts: dict[str, Json]) -> Pairs:
    processor, kernel = _dict(facts.get("processor")), _dict(facts.get("kernel"))
    machine = _dict(facts.get("machine"))
    yield tr("name"), _text(machine.get("name"))
    yield tr("storage"), _text(machine.get("storage"))
    yield tr("processor"), _text(_dict(processor.get("info")).get("model_name"))
    yield tr("CPUs"), _value(processor.get("allowed")) or _value(processor.get("online"))
    governor = processor.get("governor")
    yield tr("governor"), governor if isinstance(governor, str) else ""
    memory = _dict(_dict(facts.get("memory")).get("info")).get("MemTotal")
    yield tr("memory"), format_size(memory) if isinstance(memory, int | float) else ""
    yield tr("kernel"), _text(kernel.get("release"))
    yield tr("distribution"), _text(kernel.get("distribution"))
    yield tr("virtual machine"), _text(_dict(facts.get("virtualisation")).get("machine"))
