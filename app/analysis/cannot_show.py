"""Limits of a run's figures, however exact they are, that follow from how it was measured.

Each limit has its evidence in the run file; nothing is claimed without it. Sources: SNIA Solid State Storage
Performance Test Specification (a new or trimmed SSD is faster than one in use); Kadekodi et al., "Geriatrix",
USENIX ATC 2018 (ageing changes which filesystem is faster); G. Tene, "How NOT to Measure Latency" (a closed
loop ignores the waiting of delayed requests).

Volumes of clouds may have burst credit: a short run on one does not show its later speed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.analysis.labels import one_line
from app.analysis.stability import RunStability, read_shape
from app.domain.campaign.configuration import Caches, ServerTarget
from app.domain.errors import CorruptRunFileError
from app.domain.json_value import Json
from app.domain.storage_plan.plan import StoragePlan
from app.domain.text import format_size, number_text, tr
from app.runfile.metadata.environment import MOST_NAMED, EnvironmentFacts
from app.runfile.metadata.offered_load import LoadKind, offered_load
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import known, or_none
from app.runfile.reader import RunFile

BURST_CREDIT: Final = "burst-credit"
"""Kind of the mark for such runs."""


def bursting(environment: EnvironmentFacts, service: str = "") -> str:
    """Return the names of devices and services that may have burst credit; empty if none is known.

    Args:
        environment: of the machine with the measured devices.
        service: of the server, as `app.postgres.existing.look` names it; empty for none.
    """
    found = [each.played_words for each in environment.devices if each.is_counted and each.may_burst]
    named = [*found[:MOST_NAMED], *([tr("the volume of {name}").format(name=service)] if service else [])]
    return ", ".join(one_line(each)[:_LONGEST] for each in named)


def burst_sentence(what: str) -> str:
    """Return the reason of the mark, for the names from `bursting`."""
    words = tr(
        "{what} may have burst credits, which are visible neither on the device nor through SQL. A short "
        "run may be faster than sustained use"
    )
    return words.format(what=what)


SHORT_S: Final = 900
"""Three times the default of checkpoint_timeout: a shorter run has less than three cycles."""

MUCH_WRITTEN: Final = 1.0
"""Bytes ever written to an SSD, per byte of its size; below, it has blocks that were never used."""


class Limit(StrEnum):
    """A limit of the figures, in the order of the sentence."""

    MEMORY = "fits-in-memory"
    NO_DEVICE = "no-device"
    FRESH_FILESYSTEM = "fresh-filesystem"
    FRESH_SSD = "fresh-ssd"
    VIRTUAL = "virtual"
    BURST_CREDIT = "burst-credit"
    CLOSED_LOOP = "closed-loop"
    SHORT = "short"
    ONE_WORKLOAD = "one-workload"


@dataclass(frozen=True, slots=True)
class Limitation:
    """A limit of a run's figures.

    Attributes:
        limit: its kind.
        words: a clause about it and its reason.
    """

    limit: Limit
    words: str


def find_limitations(
    metadata: RunMetadata,
    environment: EnvironmentFacts,
    facts: Mapping[str, Json],
    shape: RunStability | None,
) -> tuple[Limitation, ...]:
    """Return the limits of a run's figures.

    Args:
        metadata: metadata of the run file.
        environment: facts from before the run.
        facts: the same, as stored.
        shape: of its measured phase; None if there is none.
    """
    if shape is None:
        return ()
    return tuple(
        Limitation(limit, words)
        for limit, words in (
            (Limit.MEMORY, _fits_in_memory(metadata, environment)),
            (Limit.NO_DEVICE, _without_device(metadata, environment)),
            (Limit.FRESH_FILESYSTEM, _fresh_filesystem(metadata)),
            (Limit.FRESH_SSD, _fresh_ssd(metadata, facts)),
            (Limit.VIRTUAL, _elsewhere(metadata, environment) or _virtual(environment)),
            (Limit.BURST_CREDIT, _burst_credit(metadata, environment)),
            (Limit.CLOSED_LOOP, _closed_loop(metadata)),
            (Limit.SHORT, _short(shape)),
            (Limit.ONE_WORKLOAD, _one_workload(metadata)),
        )
        if words
    )


def read_limitations(run: RunFile) -> tuple[Limitation, ...]:
    """Return the limits of a run file's figures; empty if its TPS are damaged."""
    try:
        shape = read_shape(run)
    except CorruptRunFileError:  # a foreign file: it has no figures either
        return ()
    return find_limitations(run.metadata, run.environment, run.facts("before"), shape)


def describe_limitations(runs: Iterable[tuple[Limitation, ...]]) -> str:
    """Return one sentence for all runs; empty if there are no limits.

    Of different reasons for one limit the first ones are named.
    """
    found: dict[Limit, dict[str, None]] = {}
    for run in runs:
        for each in run:
            found.setdefault(each.limit, {})[each.words] = None
    if not found:
        return ""
    clauses = [words for limit in Limit for words in _longest(found.get(limit, ()))[:_MOST_REASONS]]
    return tr("These figures cannot show: {what}.").format(what="; ".join(clauses))


def _longest(reasons: Iterable[str]) -> list[str]:
    """Return the reasons, except those that are the beginning of another."""
    known = list(reasons)
    return [each for each in known if not any(other != each and other.startswith(each) for other in known)]


_MOST_REASONS: Final = 2
_LONGEST: Final = 80
_MINUTES_FROM_S: Final = 120


def _fits_in_memory(metadata: RunMetadata, environment: EnvironmentFacts) -> str:
    if _without_device(metadata, environment) or _elsewhere(metadata, environment):
        return ""
    data, limit = or_none(metadata.data_bytes), or_none(metadata.target.memory_limit_bytes)
    memory = environment.memory_bytes
    room = limit if limit is not None and (memory is None or limit < memory) else memory
    if data is None or room is None or data > room:
        return ""
    sentence = tr("reads from storage ({data} of data fit in {memory} of memory)")
    if known(metadata.workload.caches, "") == Caches.COLD:
        sentence = tr(
            "sustained reads from storage ({data} of data fit in {memory} of memory, cold at the start)"
        )
    return sentence.format(data=format_size(data), memory=format_size(int(room)))


def _without_device(metadata: RunMetadata, environment: EnvironmentFacts) -> str:
    if known(metadata.target.kind, "") != "memory" and not environment.in_memory:
        return ""
    return tr("any storage (the data was in memory)")


def _elsewhere(metadata: RunMetadata, environment: EnvironmentFacts) -> str:
    """Return the limit of a server on an unknown machine: the known memory and hardware are pgbench's."""
    is_asked = bool(environment.reached.over) and not environment.reached.reason
    if known(metadata.target.kind, "") != ServerTarget.kind or is_asked:
        return ""
    return tr("the server's machine (its disks, memory and caches are not known)")


def _fresh_filesystem(metadata: RunMetadata) -> str:
    if known(metadata.target.plan, None) is None:
        return ""
    return tr("filesystem ageing (each run had a new one)")


def _fresh_ssd(metadata: RunMetadata, facts: Mapping[str, Json]) -> str:
    """Return the limit of new SSDs, as far as they report their use."""
    plan = known(metadata.target.plan, None)
    if not isinstance(plan, StoragePlan):
        return ""
    ssds = tuple(_ssds(facts))
    if not ssds:
        return ""
    parts = [tr("the data on the SSD was freshly written")]
    data = plan.data
    size = min((disk.size_bytes for disk in data.disks), default=0)
    part = data.partition_bytes
    if part is not None and size and part < size:
        words = tr("a partition of {part} on {size}")
        parts.append(words.format(part=format_size(part), size=format_size(size)))
    written = [(name, count / of) for name, of, count in ssds if count is not None and of]
    if len(written) < len(ssds):
        parts.append(tr("total bytes written are not known"))
    elif min(share for _, share in written) < MUCH_WRITTEN:
        name, share = min(written, key=lambda each: each[1])
        words = tr("total writes to {name} are {percent:.0f} % of its size")
        parts.append(words.format(name=one_line(name)[:_LONGEST], percent=100 * share))
    return tr("an SSD after long use ({why})").format(why=", ".join(parts))


def _ssds(facts: Mapping[str, Json]) -> Iterator[tuple[str, int | None, float | None]]:
    """Yield (name, bytes, bytes ever written) of the used SSDs; None if unknown."""
    health = facts.get("disk_health")
    ssds = [each for each in health.values() if isinstance(each, dict)] if isinstance(health, dict) else []
    written = [_number(each.get("bytes_written")) for each in ssds]
    seen = 0
    for name, device in _devices(facts):
        queue = device.get("queue")
        if not device.get("is_counted") or not isinstance(queue, dict) or queue.get("rotational") != 0:
            continue
        if device.get("kind") != "disk":
            continue
        size = device.get("size_bytes")
        count = written[seen] if seen < len(written) else None
        seen += 1
        yield name, size if isinstance(size, int) else None, count


def _devices(facts: Mapping[str, Json]) -> Iterator[tuple[str, Mapping[str, Json]]]:
    for part in ("storage", "wal_storage"):
        storage = facts.get(part)
        devices = storage.get("devices") if isinstance(storage, dict) else None
        for name, device in devices.items() if isinstance(devices, dict) else ():
            if isinstance(device, dict):
                yield name, device


def _number(value: Json | None) -> float | None:
    return float(value) if isinstance(value, str) and value.isascii() and value.isdigit() else None


def _virtual(environment: EnvironmentFacts) -> str:
    devices = [each for each in environment.devices if each.is_counted and each.is_played]
    played = [one_line(each.short_words)[:_LONGEST] for each in devices[:MOST_NAMED]]
    if environment.is_virtual:
        played = [tr("a virtual machine"), *played]
    if not played:
        return ""
    return tr("the hardware underneath {what}").format(what=", ".join(played))


def _burst_credit(metadata: RunMetadata, environment: EnvironmentFacts) -> str:
    server = or_none(metadata.target.server)
    service = server.managed_service if server is not None else ""
    what = bursting(environment, service)
    if not what:
        return ""
    words = tr("the speed of {what} after any burst credits are used up (there may be none)")
    return words.format(what=what)


def _closed_loop(metadata: RunMetadata) -> str:
    if offered_load(metadata).kind is not LoadKind.CLOSED:
        return ""
    return tr(
        "latency at a target rate (a closed loop does not count queueing time before a transaction starts)"
    )


def _short(shape: RunStability) -> str:
    if not shape.knows_checkpoints:
        return tr("the cost of checkpoints (their start times are not known)")
    inside = sum(1 for start_s, _ in shape.checkpoints if start_s >= 0)
    if shape.duration_s >= SHORT_S and inside:
        return ""
    length = f"{number_text(shape.duration_s, '.0f')} s"
    if shape.duration_s >= _MINUTES_FROM_S:
        length = f"{number_text(shape.duration_s / 60, '.0f')} min"
    if not inside:
        return tr("the cost of checkpoints (none began within {length})").format(length=length)
    return tr("effects that appear after {length}").format(length=length)


def _one_workload(metadata: RunMetadata) -> str:
    label = known(metadata.workload.label, "")
    if not label:
        return ""
    return tr("other workloads than {label}").format(label=one_line(label)[:_LONGEST])
