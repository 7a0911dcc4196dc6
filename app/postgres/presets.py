"""Presets of server settings: PostgreSQL's defaults, sized for this machine, published benchmarks.

A preset is a list of rules: name, formula over `Sizing`, reason, source. Values are written as in
postgresql.conf (kB, MB, GB are binary there). Settings that pgFooting itself needs are in
`app.postgres.settings`.

Sources, abbreviated below:
  manual   PostgreSQL 18 manual, chapter 19 "Server Configuration"; same advice in 13 to 17
  pgtune   pgtune by G. Smith and its successor by A. Vasiliev (formulas for mixed and OLTP loads)
  Vondra   T. Vondra, "Postgres vs. File Systems: A Performance Comparison", EDB 2022-10-10, and the
           settings.log files of his published results (pg_settings of 16devel on the i5)
  measured reference measurements of this project, section F
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from app.domain.text import GIB, MIB, tr

WAL_SEGMENT_BYTES: Final = 16 * MIB
MIN_WAL_ROOM_BYTES: Final = 128 * MIB
RESERVE_BYTES: Final = 256 * MIB
DATA_GROWTH: Final = 1.25
"""Factor on the loaded data: room for dead row versions, pgbench_history and a reserve."""


@dataclass(frozen=True, slots=True)
class Sizing:
    """Inputs of the presets' formulas.

    Attributes:
        ram_bytes: RAM, or the memory limit if lower.
        max_connections: of the server.
        target_free_bytes: free space at the target before anything is written; None if unknown.
        data_bytes: the data set's expected size.
    """

    ram_bytes: int
    max_connections: int = 100
    target_free_bytes: int | None = None
    data_bytes: int = 0

    def wal_bytes(self, wanted_bytes: int) -> int:
        """Return `wanted_bytes` or half of the space after the data, in whole segments, 128 MiB at least.

        max_wal_size is a soft limit (manual): the other half is for exceeding it.
        """
        if self.target_free_bytes is None:
            return wanted_bytes
        room = (self.target_free_bytes - DATA_GROWTH * self.data_bytes - RESERVE_BYTES) / 2
        limited = min(wanted_bytes, max(MIN_WAL_ROOM_BYTES, int(room)))
        return limited // WAL_SEGMENT_BYTES * WAL_SEGMENT_BYTES


@dataclass(frozen=True, slots=True)
class SettingRule:
    """One setting of a preset.

    Attributes:
        name: parameter of postgresql.conf.
        value: formula.
        why: one sentence.
        source: of formula and reason.
    """

    name: str
    value: Callable[[Sizing], str]
    why: str
    source: str


@dataclass(frozen=True, slots=True)
class ServerPreset:
    """A named list of settings.

    Attributes:
        id: value in campaign files.
        label: name for users.
        description: one or two sentences.
        source: of the list as a whole.
        rules: in the order in which they are written.
    """

    id: str
    label: str
    description: str
    source: str
    rules: tuple[SettingRule, ...]


def format_megabytes(size_bytes: float) -> str:
    """Format a size for postgresql.conf, in whole MB (2^20 bytes), at least 1."""
    return f"{max(1, int(size_bytes) // MIB)}MB"


def _clamped(size_bytes: float, lowest: int, highest: int) -> str:
    return format_megabytes(min(max(size_bytes, lowest), highest))


def _fixed(value: str) -> Callable[[Sizing], str]:
    return lambda _sizing: value


def _shared_buffers(sizing: Sizing) -> str:
    return _clamped(sizing.ram_bytes / 4, 128 * MIB, 16 * GIB)


def _work_mem(sizing: Sizing) -> str:
    rest = sizing.ram_bytes - min(sizing.ram_bytes / 4, 16 * GIB)
    return _clamped(rest / (4 * sizing.max_connections), 4 * MIB, 64 * MIB)


def _machine_wal(sizing: Sizing) -> int:
    return sizing.wal_bytes(16 * GIB)


DEFAULTS: Final = ServerPreset(
    id="defaults",
    label=tr("PostgreSQL's defaults"),
    description=tr(
        "initdb's defaults, not sized for the machine: 128 MB shared_buffers, 1 GB max_wal_size. Comparable "
        "with older benchmarks that used the defaults."
    ),
    source="initdb; as in “Effects of filesystems and mount options upon PostgreSQL performance”, 2011-04-21",
    rules=(),
)

_OF_RAM: Final = tr("{share} of RAM, {low} to {high}")

MACHINE: Final = ServerPreset(
    id="machine",
    label=tr("Sized for this machine"),
    description=tr(
        "Memory settings derived from RAM, and enough WAL that checkpoints are timed. What a DBA would set "
        "before measuring."
    ),
    source="manual, chapter 19; pgtune; measured",
    rules=(
        SettingRule(
            "shared_buffers",
            _shared_buffers,
            _OF_RAM.format(share="25 %", low="128 MB", high="16 GB"),
            "manual 19.4.1: 25 % of RAM is a reasonable start, over 40 % rarely helps",
        ),
        SettingRule(
            "effective_cache_size",
            lambda sizing: format_megabytes(sizing.ram_bytes * 3 / 4),
            tr("75 % of RAM; allocates nothing"),
            "manual 19.7.2; pgtune",
        ),
        SettingRule(
            "maintenance_work_mem",
            lambda sizing: _clamped(sizing.ram_bytes / 16, 64 * MIB, 2 * GIB),
            _OF_RAM.format(share="1/16", low="64 MB", high="2 GB"),
            "manual 19.4.1; pgtune",
        ),
        SettingRule(
            "work_mem",
            _work_mem,
            tr("a quarter of the RAM left by shared_buffers, for all connections, 4 to 64 MB"),
            "manual 19.4.1 (several sorts or hashes for each connection); pgtune",
        ),
        SettingRule(
            "wal_buffers",
            _fixed("16MB"),
            tr("one WAL segment, as the server chooses from 512 MB of shared_buffers on"),
            "manual 19.5.1",
        ),
        SettingRule(
            "max_wal_size",
            lambda sizing: format_megabytes(_machine_wal(sizing)),
            tr(
                "16 GB, at most half of the target's space besides the data: checkpoints forced by WAL "
                "volume distort runs"
            ),
            "manual 19.5.2; measured: at least 1.9 x WAL rate x checkpoint_timeout",
        ),
        SettingRule(
            "min_wal_size",
            lambda sizing: format_megabytes(min(4 * GIB, _machine_wal(sizing) // 4)),
            tr("a quarter of max_wal_size, at most 4 GB: WAL files are recycled"),
            "manual 19.5.2",
        ),
        SettingRule(
            "checkpoint_timeout",
            _fixed("5min"),
            tr("the default"),
            "manual 19.5.2; measured",
        ),
        SettingRule(
            "checkpoint_completion_target",
            _fixed("0.9"),
            tr("the default since version 14, set for 13 too"),
            "manual 19.5.2; release notes 14",
        ),
        SettingRule(
            "huge_pages",
            _fixed("try"),
            tr("the default"),
            "manual 19.4.1, 18.4.5",
        ),
    ),
)

_PUBLISHED: Final = tr("as published")
_ON_ZFS: Final = tr("copy on write: pages never tear, and reusing WAL files gains nothing")

_VONDRA_RULES: Final = (
    SettingRule(
        "shared_buffers",
        lambda sizing: _clamped(sizing.ram_bytes / 8, 128 * MIB, 8 * GIB),
        tr("1/8 of RAM: 1 GB of 8 GB on Vondra's i5, 8 GB of 64 GB on his xeon, the largest tried"),
        "Vondra",
    ),
    SettingRule("checkpoint_timeout", _fixed("15min"), _PUBLISHED, "Vondra"),
    SettingRule(
        "max_wal_size",
        lambda sizing: format_megabytes(
            sizing.wal_bytes(64 * GIB if sizing.ram_bytes < 32 * GIB else 128 * GIB)
        ),
        tr(
            "64 GB on Vondra's i5, 128 GB on his xeon; here at most half of the target's "
            "space besides the data"
        ),
        "Vondra",
    ),
    SettingRule(
        "min_wal_size",
        lambda sizing: format_megabytes(min(8 * GIB, sizing.wal_bytes(64 * GIB) // 2)),
        tr("8 GB on Vondra's i5; here at most half of max_wal_size"),
        "Vondra, settings.log",
    ),
    SettingRule("work_mem", _fixed("128MB"), _PUBLISHED, "Vondra, settings.log"),
    SettingRule("random_page_cost", _fixed("1.5"), _PUBLISHED, "Vondra, settings.log"),
    SettingRule("effective_io_concurrency", _fixed("64"), _PUBLISHED, "Vondra, settings.log"),
    SettingRule("max_parallel_workers_per_gather", _fixed("0"), _PUBLISHED, "Vondra, settings.log"),
    SettingRule("max_parallel_maintenance_workers", _fixed("0"), _PUBLISHED, "Vondra, settings.log"),
    SettingRule("autovacuum_vacuum_cost_limit", _fixed("500"), _PUBLISHED, "Vondra, settings.log"),
    SettingRule("autovacuum_vacuum_scale_factor", _fixed("0.05"), _PUBLISHED, "Vondra, settings.log"),
    SettingRule("log_autovacuum_min_duration", _fixed("100ms"), _PUBLISHED, "Vondra, settings.log"),
)

SEEDS: Final = ServerPreset(
    id="seeds",
    label=tr("As in the published benchmarks"),
    description=tr(
        "Tomas Vondra's settings for ext4, XFS and btrfs in his 2022 filesystem comparison. Makes results "
        "comparable with the published ones."
    ),
    source="Vondra",
    rules=_VONDRA_RULES,
)

SEEDS_ZFS: Final = ServerPreset(
    id="seeds-zfs",
    label=tr("As in the published benchmarks") + " (ZFS)",
    description=tr(
        "The same with his ZFS tuning. full_page_writes is off, which is only safe if the filesystem never "
        "tears pages; otherwise the run is marked."
    ),
    source="Vondra",
    rules=(
        *_VONDRA_RULES,
        SettingRule(
            "full_page_writes",
            _fixed("off"),
            _ON_ZFS,
            "Vondra",
        ),
        SettingRule("wal_init_zero", _fixed("off"), _ON_ZFS, "Vondra"),
        SettingRule("wal_recycle", _fixed("off"), _ON_ZFS, "Vondra"),
    ),
)

PRESETS: Final = {preset.id: preset for preset in (DEFAULTS, MACHINE, SEEDS, SEEDS_ZFS)}
