"""Published figures: shown only as labelled marks next to the user's own bars.

They never enter a statistic: other hardware, other versions, mostly one run. Every figure names its source
and quotes its sentence or table row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.text import tr

TPS: Final = "tps"
"""The measure of figures that are comparable with a run's TPS."""


@dataclass(frozen=True, slots=True)
class Publication:
    """A text with measurements.

    Attributes:
        id: name of its file in resources/reference.
        short: author or subject with the year, for labels.
        title: of the text.
        author: as the text names it; says so if it names none.
        publisher: where it appeared.
        published: date as exactly as it is known, such as 2022-10-10 or 2009-10.
        year: when it was measured.
        conditions: valid for all its figures.
    """

    id: str
    short: str
    title: str
    author: str
    publisher: str
    published: str
    year: int
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PublishedMachine:
    """A measured machine; empty if the text does not say.

    Attributes:
        id: unique within its publication.
        processor: with its number of cores.
        memory: size.
        storage: disks.
        system: operating system with its version.
        postgresql: version.
        conditions: server settings and the like.
    """

    id: str
    processor: str = ""
    memory: str = ""
    storage: str = ""
    system: str = ""
    postgresql: str = ""
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFigure:
    """One number of a text.

    Attributes:
        id: stable and unique, such as ``vondra-2022/results-for-i5-scale-250-read-only/mirror/ext4``.
        publication: its source.
        machine: the measured machine; None if the text does not say.
        measure: ``tps`` for mean TPS of runs; else words such as ``write rate``.
        value: in `unit`; the lower end of a range.
        high: upper end of a range, else None.
        is_rough: the text says about, almost, less than ...
        unit: 1/s, %, x (a ratio), s, h, MB/s, kB/s or GB.
        written: as the text writes it.
        place: title of the table; empty for a figure from a sentence.
        row: of the table; empty for a figure from a sentence.
        column: of the table; empty for a figure from a sentence.
        quotation: the sentence, or the row of the table below its title and headings.
        filesystem: lower case; several ones as ``ext4/xfs``; empty if irrelevant or unknown.
        variant: one of several configurations of that filesystem, in a word; mostly empty.
        options: of the filesystem, as the text names them.
        settings: of the server, if they differ from the machine's.
        raid: level as `app.domain` spells it (single, stripe, mirror, raid10, raid5, raidz1 ...); else empty.
        workload: select-only, simple-update or tpcb-like of pgbench; empty for anything else.
        scale: pgbench's scale factor.
        clients: concurrent connections.
        duration_s: of a run.
        conditions: further facts about this figure, without those of publication and machine.
    """

    id: str
    publication: Publication
    machine: PublishedMachine | None
    measure: str
    value: float
    high: float | None
    is_rough: bool
    unit: str
    written: str
    place: str
    row: str
    column: str
    quotation: str
    filesystem: str = ""
    variant: str = ""
    options: str = ""
    settings: str = ""
    raid: str = ""
    workload: str = ""
    scale: int | None = None
    clients: int | None = None
    duration_s: int | None = None
    conditions: tuple[str, ...] = ()

    @property
    def is_tps(self) -> bool:
        """Whether it is comparable with the mean TPS of a run."""
        return self.measure == TPS

    @property
    def label(self) -> str:
        """Source and configuration in a few words, for a mark next to a bar."""
        filesystem = f"{self.filesystem} {self.variant}".strip()
        options = "" if self.variant else self.settings or self.options
        configuration = ", ".join(part for part in (filesystem, self.raid, options) if part)
        source = self.publication.short
        return f"{source}: {configuration}" if configuration else source

    def all_conditions(self) -> tuple[str, ...]:
        """Return all conditions for comparing with it, hardware first, as sentences for users."""
        found: list[str] = []
        if self.machine is not None:
            known = (
                (tr("processor"), self.machine.processor),
                (tr("memory"), self.machine.memory),
                (tr("storage"), self.machine.storage),
                (tr("system"), self.machine.system),
                (tr("PostgreSQL"), self.machine.postgresql),
            )
            found += [f"{name}: {text}" for name, text in known if text]
            found += self.machine.conditions
        return (*found, *self.publication.conditions, *self.conditions)
