"""Describe a run's choices and its machine, property by property, in words. Pure.

The properties follow the declarations: the fields of workload, storage plan, installation and target, the
options of the filesystems, the server settings. A new field or option is a property automatically: `LABELS`
may give it a better name.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from app.analysis.data_set import data_set_words
from app.campaign_file.partial import TABLES
from app.domain.campaign.configuration import DataSet
from app.domain.disk import DiskIdentity
from app.domain.filesystems import find_filesystem
from app.domain.options.kinds import OptionValue
from app.domain.options.raid import STRIPED, Assembler, Level
from app.domain.storage_plan.plan import DEFAULT_CHUNK_BYTES, Bitmap, Group, InitialSync, StoragePlan
from app.domain.text import format_duration, format_size, number_text, titled, tr
from app.runfile.metadata.environment import DATA_CHECKSUMS, MOST_CHARACTERS, EnvironmentFacts
from app.runfile.metadata.offered_load import LoadKind, offered_load
from app.runfile.metadata.run_metadata import RunMetadata, ScriptMetadata, ServerMetadata, TargetMetadata
from app.runfile.metadata.typed_json import NotKnown, known, or_none

if TYPE_CHECKING:
    from app.domain.options.filesystem_spec import FilesystemSpec

TARGET: Final = tr("Target")
WORKLOAD: Final = tr("Workload")
POSTGRESQL: Final = "PostgreSQL"
SETTING: Final = tr("Setting")
MACHINE: Final = titled(tr("machine"))
PGBENCH_MACHINE: Final = tr("pgbench machine")
"""Topic of the machine if the server's own machine is another one, and unknown."""

PGBENCH: Final = "pgbench"
"""Name of the property for pgbench's version."""

RATE_VALUE: Final = tr("target rate value")
"""Name of the unknown value of a rate that was set."""

TRIES: Final = tr("tries per transaction")
PARTITIONS: Final = tr("partitions of the largest table")
CONNECTING: Final = tr("connection time")
"""Names of properties of runs from elsewhere: pgFooting uses no such option of pgbench."""

PLAN: Final = tr("storage layout")
"""Name of the unknown plan of a target."""

SETTINGS: Final = tr("server settings")

KIND: Final = tr("kind")
IDENTIFIER: Final = tr("system identifier")
"""Name of the property that distinguishes one PostgreSQL cluster from every other."""

ROUND_TRIP: Final = tr("network round trip")
PATH: Final = tr("path")

LABELS: Final = {
    **{each.attribute: each.fact for fields_ in TABLES.values() for each in fields_ if each.fact},
    "label": tr("transactions"),
    "folder": tr("installation"),
    "version": tr("version"),
    "sha256": tr("build"),
    "origin": tr("found by"),
    "configure": tr("configure options"),
    "block_size": tr("block size"),
    "partition_bytes": tr("partition size"),
    "wal_preset": tr("preset"),
}
"""Names of fields for users, of campaign files first; others keep their own name."""

_WORDS: Final = {
    each.attribute: each.words for fields_ in TABLES.values() for each in fields_ if each.words is not None
}
"""How values of keys of campaign files are written, by attribute."""

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
"""Properties of a dataset that the user chooses; the others are sizes and names."""

_REPORTED: Final = {
    "made_with": tr("filesystem created with"),
    "format_version": tr("filesystem format version"),
    "compression": tr("filesystem compression"),
    "check": tr("filesystem checksums"),
}
"""Facts about a filesystem from tools of other systems, see `app.runfile.metadata.environment.REPORTED`."""

_NO_MATTER: Final = re.compile(
    r"(?:lc|log|ssl|unix_socket|krb|bonjour|default_text_search|dynamic_shared_memory)_.*|ssl|port|cluster_name"
    r"|listen_addresses|DateStyle|TimeZone|.*_file"
)
"""Settings of an existing server that concern its location and users, not its speed."""

_DIGEST_LENGTH: Final = 12


@dataclass(frozen=True, slots=True)
class Property:
    """One choice or fact.

    Attributes:
        topic: its heading.
        name: for users; unique within its topic.
        value: as text; empty if unknown.
        is_shown: whether it is worth a line: not the default of an option.
        is_known: whether the file has it.
        part: name of the unknown property in a file without any property of this kind.
        within: name of the property without which this one is meaningless; empty for none.
        follows: whether it is derived: a setting that a preset computes from machine, clients and data.
        measured: a measured value, which never repeats exactly; None for an exact property. It differs if one
            is more than twice the other and the two are more than 0.1 apart.
    """

    topic: str
    name: str
    value: str
    is_shown: bool = True
    is_known: bool = True
    part: str = ""
    within: str = ""
    follows: bool = False
    measured: float | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Its unique key."""
        return self.topic, self.name


def _label(name: str) -> str:
    return LABELS.get(name, name)


def value_words(value: object, name: str = "") -> str:
    """Return a value for users; empty for None.

    Args:
        value: of a field.
        name: of the field; names in _bytes or _s get a unit, and so does block_size.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return tr("yes") if value else tr("no")
    if isinstance(value, int | float):
        return _number_words(value, name)
    return str(value)[:MOST_CHARACTERS]


def _number_words(value: float, name: str) -> str:
    if name.endswith("_bytes") or name == "block_size":
        return format_size(value)
    if name.endswith("_s"):
        return format_duration(value)
    return (
        number_text(value, ".0f")
        if value == round(value) and abs(value) < 1e15
        else number_text(value, ".6g")
    )


def properties_of(run: RunMetadata, environment: EnvironmentFacts | None) -> Iterator[Property]:
    """Yield every property of a run, each once, without the `unchosen_settings`.

    Args:
        run: the choices; unknown ones are yielded as unknown.
        environment: the facts; None before a run, when they do not matter.
    """
    yield from _target(run.target, environment)
    yield from _workload(run)
    in_effect = {} if environment is None else environment.settings_in_effect
    if isinstance(run.target.server, ServerMetadata):  # its owner's settings are shown
        yield from _postgresql_elsewhere(run, environment)
        in_effect = {}
    else:
        yield from _postgresql(run)
    yield from _settings(run, in_effect)
    if environment is not None:
        reached = environment.reached
        is_elsewhere = isinstance(run.target.server, ServerMetadata) and (not reached.over or reached.reason)
        yield from _machine(PGBENCH_MACHINE if is_elsewhere else MACHINE, environment)


def _given(topic: str, name: str, value: object, field: str = "") -> Iterator[Property]:
    """Yield a property if it has a value, or if that is unknown."""
    if isinstance(value, NotKnown):
        yield Property(topic, name, "", is_shown=False, is_known=False)
    elif text := value_words(value, field):
        yield Property(topic, name, text)


def _found(topic: str, name: str, value: str, *, is_key: bool = False) -> Iterator[Property]:
    """Yield a fact; a missing one that every machine has is unknown."""
    if value:
        yield Property(topic, name, value)
    elif is_key:
        yield Property(topic, name, "", is_shown=False, is_known=False)


# --- the target


def _target(target: TargetMetadata, environment: EnvironmentFacts | None) -> Iterator[Property]:
    plan = target.plan
    yield from _given(TARGET, KIND, target.kind)
    yield from _given(TARGET, "RAID", target.raid)
    if environment is None or not environment.in_memory:
        yield from _given(TARGET, PATH, target.path)
    yield from _filesystem(plan, environment)
    yield from _limits(target)
    if isinstance(target.server, ServerMetadata):
        yield from _server(target.server)
    if isinstance(plan, NotKnown):
        yield Property(TARGET, PLAN, "", is_shown=False, is_known=False)
    elif plan is not None:
        yield from (replace(each, part=PLAN) for each in _plan(plan, target))
    for device in environment.devices if environment is not None else ():
        yield from _found(TARGET, tr("device {name}").format(name=device.name), device.words)


def _filesystem(
    plan: StoragePlan | NotKnown | None, environment: EnvironmentFacts | None
) -> Iterator[Property]:
    """Yield the filesystem of the data, and its settings."""
    if environment is None:
        if isinstance(plan, StoragePlan):
            yield Property(TARGET, tr("filesystem"), plan.data.filesystem)
        return
    planned = plan.data.filesystem if isinstance(plan, StoragePlan) else ""
    yield from _found(TARGET, tr("filesystem"), environment.filesystem or planned, is_key=True)
    yield from _found(TARGET, tr("mount options"), ",".join(environment.mount_options))
    dataset = environment.dataset
    pairs = (f"{name}={value_words(dataset[name])}" for name in _ZFS_PROPERTIES if name in dataset)
    yield from _found(TARGET, tr("dataset"), ", ".join(pairs))
    for name, label in _REPORTED.items():
        yield from _found(TARGET, label, environment.reported.get(name, ""))


def _server(server: ServerMetadata) -> Iterator[Property]:
    """Yield an existing server's own description."""
    if server.system_identifier == "":
        yield Property(TARGET, IDENTIFIER, "", is_shown=False, is_known=False)
    rows = (
        (tr("server"), server.host_name),
        (tr("cluster name"), server.cluster_name),
        (tr("managed service"), server.managed_service),
        (IDENTIFIER, server.system_identifier),
        (tr("role"), server.user_name),
        ("TLS", server.tls or tr("none")),
        ("pg_monitor", server.has_monitor),
        (tr("database size limit"), server.room_bytes),
    )
    for name, value in rows:
        yield from _given(TARGET, name, value, "room_bytes" if value is server.room_bytes else "")
    trip = server.round_trip_ms
    if trip is not None:
        yield Property(TARGET, ROUND_TRIP, f"{number_text(trip, '.2f')} ms", measured=trip)


def _limits(target: TargetMetadata) -> Iterator[Property]:
    for name in ("size_bytes", "memory_limit_bytes"):
        value = getattr(target, name)
        if name == "size_bytes" and isinstance(value, NotKnown):
            continue  # only for targets in memory
        yield from _given(TARGET, _label(name), value, name)


def _plan(plan: StoragePlan, target: TargetMetadata) -> Iterator[Property]:
    presets = {"data": target.preset, "wal": target.wal_preset}
    for each in fields(plan):
        part = getattr(plan, each.name)
        if isinstance(part, Group):
            found = tuple(_group(each.name, part, presets.get(each.name)))
            whole = "" if each.name == "data" else _of_group(each.name, _label("disks"))
            yield from (replace(item, within=whole if item.name != whole else "") for item in found)
        elif part:
            yield from _given(TARGET, _label(each.name), _disks_words(part))


def _of_group(role: str, name: str) -> str:
    return name if role == "data" else f"{role.upper()}: {name}"


def _group(role: str, group: Group, preset: object) -> Iterator[Property]:
    """Yield the parts of one filesystem; `role` is the field of the plan."""
    named = partial(_of_group, role)
    spec = find_filesystem(group.filesystem)
    if role != "data":
        yield Property(TARGET, named("RAID"), group.level.value)
        yield Property(TARGET, named(tr("filesystem")), group.filesystem)
    yield from _given(TARGET, named(tr("filesystem preset")), preset)
    for each in fields(group):
        if each.name in {"level", "filesystem", "options"}:
            continue
        yield from _given(TARGET, named(_label(each.name)), _part_words(group, spec, each.name))
    yield from _options(group, spec, named)


def _part_words(group: Group, spec: FilesystemSpec | None, name: str) -> str | None:
    """Return a field of a group as it was in effect; None if it is meaningless for that level."""
    value = getattr(group, name)
    if name == "disks":
        return _disks_words(value)
    if name == "partition_bytes":
        if value is None:
            return tr("the whole disk")
        return format_size(value) if value else tr("what the data needs")
    is_md = spec is not None and group.level in spec.levels and spec.assembler(group.level) is Assembler.MD
    if value is None and is_md and group.level is not Level.SINGLE:
        if name == "chunk_bytes" and group.level in STRIPED:
            value = DEFAULT_CHUNK_BYTES
        elif group.level is not Level.STRIPE:
            value = {"bitmap": Bitmap.INTERNAL, "initial_sync": InitialSync.WAIT}.get(name)
    return None if value is None else value_words(value, name)


def _disks_words(disks: tuple[DiskIdentity, ...]) -> str:
    return ", ".join(_disk_words(each) for each in disks)


def _disk_words(disk: DiskIdentity) -> str:
    name = disk.serial or disk.wwn or disk.device_number
    text = ", ".join(
        part for part in (disk.model.strip(), format_size(disk.size_bytes) if disk.size_bytes else "") if part
    )
    return f"{name} ({text})" if text else name


def _options(group: Group, spec: FilesystemSpec | None, named: Callable[[str], str]) -> Iterator[Property]:
    """Yield every option of a filesystem: unchosen ones with their default, which is not shown."""
    chosen = group.chosen
    options = spec.options if spec is not None else ()
    defaults = {each.id: each.default for each in options}
    often = Counter(each.label for each in options)
    labels = {
        each.id: each.label if often[each.label] == 1 else f"{each.label} ({each.id})" for each in options
    }
    for option_id, label in ({name: name for name in chosen} | labels).items():
        name = named(f"{spec.label if spec is not None else group.filesystem} {label}")
        if option_id in chosen:
            yield Property(TARGET, name, value_words(chosen[option_id]))
        else:
            yield Property(TARGET, name, _default_words(defaults.get(option_id)), is_shown=False)


def _default_words(value: OptionValue | None) -> str:
    return tr("not chosen") if value is None else tr("default ({value})").format(value=value_words(value))


# --- workload, server, machine


def _workload(run: RunMetadata) -> Iterator[Property]:
    for each in fields(run.workload):
        value = getattr(run.workload, each.name)
        if each.name == "scripts":
            yield from _scripts(value)
            continue
        if each.name in _WORDS and not isinstance(value, NotKnown):
            yield Property(WORKLOAD, _label(each.name), _WORDS[each.name](value), is_shown=value is not None)
            continue
        if each.name == "data_set":
            yield from _data_set(run)
            continue
        if each.name == "phases":  # one, if a file has none
            words = tr("one") if isinstance(value, NotKnown) else value[:MOST_CHARACTERS]
            yield Property(WORKLOAD, _label(each.name), words, is_shown=not isinstance(value, NotKnown))
            continue
        if each.name in _LOADS:
            yield from _load(run, each.name, value)
            continue
        yield from _given(WORKLOAD, _label(each.name), value, each.name)
        if each.name == "threads":
            yield from _given(WORKLOAD, tr("scale"), run.scale)
            yield from _given(WORKLOAD, tr("data"), run.data_bytes, "data_bytes")
    yield from _printed(run)


def _printed(run: RunMetadata) -> Iterator[Property]:
    """Yield what pgbench printed of options that pgFooting does not use, where it was used elsewhere."""
    for name, label, usual in (("max_tries", TRIES, 1), ("partitions", PARTITIONS, 0)):
        value = run.printed(name)
        if value is not None and value != usual:
            yield Property(WORKLOAD, label, value_words(int(value)))
    if (with_it := run.printed("tps_with_connecting")) is None:
        return
    from app.postgres.pgbench.summary import Connecting, much_connecting  # noqa: PLC0415 - only of old pgbench

    if (connecting := much_connecting(run.printed("tps"), with_it)) is not None:
        is_in = connecting is Connecting.INCLUDED
        yield Property(WORKLOAD, CONNECTING, tr("in the TPS") if is_in else tr("excluded from the TPS"))


def _data_set(run: RunMetadata) -> Iterator[Property]:
    """Yield how the data was loaded: as it really was, if known, else as stated."""
    data_set = or_none(run.data_set)
    state = run.workload.data_set if data_set is None or not data_set.state else data_set.state
    if isinstance(state, NotKnown):
        yield from _given(WORKLOAD, LABELS["data_set"], state)
    else:
        words = data_set_words(state)
        yield Property(WORKLOAD, LABELS["data_set"], words, is_shown=state != DataSet.LOADED)


_LOADS: Final = frozenset({"rate_tps", "latency_limit_ms"})


def _load(run: RunMetadata, name: str, value: object) -> Iterator[Property]:
    """Yield rate or limit; a missing value may follow from pgbench's output."""
    load = offered_load(run)
    if not isinstance(value, NotKnown):
        yield from _given(WORKLOAD, _label(name), value, name)
    elif name == "rate_tps" and load.kind is LoadKind.RATE:
        yield Property(WORKLOAD, _label(name), tr("not known"))
        yield Property(WORKLOAD, RATE_VALUE, "", is_shown=False, is_known=False)
    elif name == "rate_tps" and load.kind is LoadKind.CLOSED:
        return
    elif name == "latency_limit_ms" and load.limit_is_known:
        yield from _given(WORKLOAD, _label(name), load.limit_ms, name)
    else:
        yield from _given(WORKLOAD, _label(name), value, name)


def _scripts(scripts: tuple[ScriptMetadata, ...] | NotKnown) -> Iterator[Property]:
    """Yield details missing from labels: weights, own files and their texts."""
    for number, each in enumerate(() if isinstance(scripts, NotKnown) else scripts, 1):
        name = tr("script {number}").format(number=number)
        words = [tr("weight {weight}").format(weight=each.weight)] if each.weight != 1 else []
        words += [each.path] if each.path else []
        if each.text:
            digest = hashlib.sha256(each.text.encode("utf-8", "surrogatepass")).hexdigest()
            words.append(tr("SHA-256 {digest}").format(digest=digest[:_DIGEST_LENGTH]))
        if words:
            yield from _given(WORKLOAD, name, f"{each.label}: {', '.join(words)}")


def _postgresql(run: RunMetadata) -> Iterator[Property]:
    for each in fields(run.installation):
        value = getattr(run.installation, each.name)
        if each.name == "sha256" and isinstance(value, str):
            value = value[:_DIGEST_LENGTH]
        yield from _given(POSTGRESQL, _label(each.name), value, each.name)
    yield from _given(POSTGRESQL, PGBENCH, run.pgbench_version)
    for each in fields(run.postgresql):
        yield from _given(POSTGRESQL, _label(each.name), getattr(run.postgresql, each.name), each.name)


def _postgresql_elsewhere(run: RunMetadata, environment: EnvironmentFacts | None) -> Iterator[Property]:
    """Yield an existing server's own description of its build and settings, because they were not chosen."""
    yield from _given(POSTGRESQL, _label("version"), run.installation.version)
    yield from _given(POSTGRESQL, PGBENCH, run.pgbench_version)
    if environment is None:
        return
    settings = environment.server_settings
    page, checksums = environment.page_bytes, settings.get(DATA_CHECKSUMS)
    for name, value in (
        ("sha256", environment.server_version),
        ("block_size", "" if page is None else value_words(page, "block_size")),
        ("checksums", {"on": value_words(True), "off": value_words(False)}.get(checksums or "", "")),  # noqa: FBT003
    ):
        yield from _found(POSTGRESQL, _label(name), value, is_key=True)
    chosen = {each.name for each in known(run.settings, ())}
    for name, value in settings.items():
        if name != DATA_CHECKSUMS and name not in chosen and not _NO_MATTER.fullmatch(name):
            yield Property(SETTING, name, value[:MOST_CHARACTERS])


def _settings(run: RunMetadata, in_effect: Mapping[str, str]) -> Iterator[Property]:
    """Yield the chosen settings, as the server reports them."""
    if isinstance(run.settings, NotKnown):
        yield Property(SETTING, SETTINGS, "", is_shown=False, is_known=False)
        return
    for each in run.settings:
        if each.origin != "pgfooting" and each.name:
            words = in_effect.get(each.name.lower()) or each.value or tr("(empty)")
            follows = each.origin == "preset"
            yield Property(SETTING, each.name, words[:MOST_CHARACTERS], part=SETTINGS, follows=follows)


def unchosen_settings(run: RunMetadata, environment: EnvironmentFacts) -> dict[str, str]:
    """Return the other settings that the server reports, by name: hundreds, the same in almost all runs."""
    if isinstance(run.settings, NotKnown) or isinstance(run.target.server, ServerMetadata):
        return {}
    written = {each.name for each in run.settings}
    in_effect = environment.settings_in_effect.items()
    return {name: value[:MOST_CHARACTERS] for name, value in in_effect if name not in written}


def _arc_words(most_bytes: int | None) -> str:
    if most_bytes is None:
        return ""
    return format_size(most_bytes) if most_bytes else tr("chosen by ZFS (0)")


def _machine(topic: str, environment: EnvironmentFacts) -> Iterator[Property]:
    memory = environment.memory_bytes
    for name, value, is_key in (
        (tr("name"), environment.name, False),
        (tr("storage"), environment.storage, False),
        (tr("processor"), environment.processor, True),
        ("CPUs", environment.cpus, True),
        (tr("governor"), environment.governor, False),
        (tr("memory"), "" if memory is None else format_size(memory), True),
        (tr("ZFS cache limit (zfs_arc_max)"), _arc_words(environment.arc_max_bytes), False),
        (tr("kernel"), environment.kernel, True),
        (tr("distribution"), environment.distribution, False),
        (tr("virtual machine"), environment.virtual_machine, False),
        (tr("read via"), environment.reached.words, False),
    ):
        yield from _found(topic, name, value, is_key=is_key)
