"""Explanations for the workload page, by the key of campaign files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.text import tr
from app.draft.fields.fields import PHASES


@dataclass(frozen=True, slots=True)
class Help:
    """One explanation.

    Attributes:
        text: two or three sentences.
        source: of the explanation; empty for pgFooting's own methods.
    """

    text: str
    source: str = ""


WORKLOAD_TEXTS: Final = {
    "workload.script": Help(
        tr(
            "TPC-B-like updates three tables and inserts into a fourth in each transaction: it commits all "
            "the time and so shows what flushes cost. Select-only shows reads alone."
        ),
        tr("PostgreSQL manual, pgbench"),
    ),
    "own": Help(
        tr(
            "Your own files for pgbench, one or several; each transaction draws one by weight. They find "
            "pgbench's four tables, loaded at the size chosen below."
        ),
        tr("PostgreSQL manual, pgbench: Custom Scripts"),
    ),
    "workload.size": Help(
        tr(
            "Small data fits into every cache and shows commits; data twice as large as the memory has to be "
            "read from the disks. Medium lies between."
        ),
        "T. Vondra, FOSDEM PgDay 2016",
    ),
    "workload.compressibility": Help(
        tr(
            "Matters where a filesystem compresses: pgbench's own rows are mostly blanks and shrink to about "
            "a thirtieth, your data will not. Here rows are random bytes and zeros in the stated proportion "
            "(zstd -3 over 128 KiB, read back after loading), as large as pgbench's, the same for all. At "
            "1.4:1 only headers and keys shrink. Own scripts find filler as bytea."
        ),
        tr("measured; btrfs, ZFS: zstd -3"),
    ),
    "workload.data_set": Help(
        tr(
            "Loaded: pgbench makes the data on the storage before every run; how long rows, keys and vacuum "
            "take is compared too. Copied: it is made once, kept on a disk that is not measured, and copied "
            "before every run, several times as fast. The two are different states of a filesystem: compare "
            "runs of one kind."
        )
    ),
    "workload.clients": Help(
        tr(
            "Connections that work at the same time. More clients hide the latency of flushes, because "
            "commits share them, until the CPU or the disks are full."
        )
    ),
    "workload.threads": Help(
        tr(
            "Threads of pgbench itself. Left empty, half of the CPUs: enough to drive the server and not so "
            "many that they take its CPUs."
        )
    ),
    "workload.duration": Help(
        tr(
            "Length of the measured phase. Half a minute is a first look; for a verdict about disks take 15 "
            "minutes and more, so that checkpoints fall into it."
        ),
        tr("measured: three checkpoint cycles"),
    ),
    "workload.warmup": Help(
        tr(
            "Runs before the measured phase and does not count: caches fill, and the first checkpoint's full "
            "pages are written. With cold caches there is none: it would fill them."
        )
    ),
    "workload.caches": Help(
        tr(
            "Warm: what loading and warm-up left in shared_buffers and in the cache of the operating system. "
            "Cold: before each run the server is stopped, the data leaves those caches, and the server "
            "starts again, so that the first reads come from storage; the run says how much was cached all "
            "the same. Caches below, of a disk, a controller or a host of virtual machines, stay as they are."
        ),
        "posix_fadvise(2), proc(5) drop_caches",
    ),
    "repeats": Help(
        tr(
            "Runs of each configuration, interleaved in rounds. The unit of a verdict is the run; from three "
            "on there is one, and more show smaller differences. Left out: 3, or 5 from three "
            "configurations on, because several comparisons ask for more."
        ),
        "Kalibera & Jones, 2013",
    ),
    "design": Help(
        tr(
            "Fixed: every configuration is run as often, and each difference gets its interval; take this "
            "for what you publish. Sequential: after each round, from the third on, what can hardly be the "
            "fastest any more is left out and the others go on; how often that errs is simulated. It needs "
            "two configurations with the same workload and no rate."
        ),
        "Kim & Nelson, 2001",
    ),
    "precision": Help(
        tr(
            "With a sequential design: as soon as all that are left are closer together than this, in "
            "percent, nobody needs to know which of them is the fastest, and the campaign ends. Left empty, "
            "it goes on until one is left or the rounds are over."
        )
    ),
    PHASES: Help(
        tr(
            "A run may measure several phases, one after the other on the same data: selects, then "
            "TPC-B-like, then selects again. Each has figures of its own and is compared with the same phase "
            "of other configurations. All configurations have the same phases."
        ),
        "Lentfer, 2009",
    ),
    f"{PHASES}.counts": Help(
        tr("What is not compared is measured, kept and shown all the same, such as one that only warms up.")
    ),
    f"{PHASES}.script": Help(
        tr(
            "A built-in script of pgbench. Files and several scripts for one phase are written in the "
            "campaign file, and kept here as they are."
        ),
        tr("PostgreSQL manual, pgbench"),
    ),
    f"{PHASES}.rate": Help(
        tr(
            "Transactions per second that arrive, as a number, or as a share of what an earlier phase of the "
            "same run reached: 70 % of reads, with the name of that phase."
        )
    ),
    f"{PHASES}.maintenance": Help(
        tr("What is done before the phase, once for all of its times, in the order in which it was ticked.")
    ),
    f"{PHASES}.background": Help(
        tr(
            "What is done beside the phase for as long as it lasts: base backups one after the other, which "
            "are read and thrown away; a scrub; or snapshots at an interval, removed when the phase has "
            "ended. The last two need spare disks with btrfs or ZFS."
        ),
        tr("PostgreSQL manual, pg_basebackup"),
    ),
    f"{PHASES}.every": Help(
        tr("With snapshots: the first one is made when the phase begins, the next ones at this interval.")
    ),
    f"{PHASES}.max_rate": Help(
        tr(
            "With base backups: how much they read in a second at most, from 32 KiB to 1 GiB (--max-rate). "
            "Left empty, they read as fast as disk and server allow."
        ),
        tr("PostgreSQL manual, pg_basebackup"),
    ),
    "order": Help(
        tr(
            "Every round holds each configuration once. In random order nothing that comes round "
            "regularly meets always the same ones, and who follows whom is spread evenly. AB BA is the "
            "same each time: it cancels a slow drift, but every configuration keeps its neighbours."
        ),
        "Williams, 1949",
    ),
    "repeat_disturbed": Help(
        tr(
            "Whether a run was disturbed is told from what others did meanwhile (CPU, steal, swap, heat, "
            "trims), never from its speed. So many runs may be measured again, at the end of their round. "
            "All stay in the library, and the report tells the verdict with and without them."
        )
    ),
    "time_budget": Help(
        tr(
            "No run is begun that would not end within this time, judged by the runs so far; once a round "
            "is complete only whole rounds are begun. What is missing then can go on another time, with the "
            "same budget again."
        )
    ),
    "workload.protocol": Help(
        tr(
            "Prepared statements are planned once, as most drivers and poolers do. Simple sends text each "
            "time and measures the parser as well."
        ),
        tr("PostgreSQL manual, pgbench"),
    ),
    "workload.rate": Help(
        tr(
            "Transactions arrive at this rate, kept up with or not, and latency counts from their arrival. "
            "Who keeps it is not told apart by speed; of who does not the capacity is told. Left empty, each "
            "client sends the next one as soon as it can: percentiles then leave out the waiting of those "
            "who could not start."
        ),
        tr("PostgreSQL manual, pgbench --rate"),
    ),
    "workload.latency_limit": Help(
        tr(
            "With a rate, transactions that would start later than this are skipped, and count as beyond it "
            "in percentiles. Without one, late ones are only counted."
        ),
        tr("PostgreSQL manual, pgbench --latency-limit"),
    ),
}
