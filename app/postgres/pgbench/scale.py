"""Compute the size of the pgbench data set: its scale factor, and data of a given compressibility.

Constants, measured with PostgreSQL 15.18, block size 8192, fillfactor 100, at scales 1, 10, 50 and 100: 14.96
MiB per unit of scale (heap 12.8, primary key 2.15) and 7.5 MiB for the catalogue of a new database. The heap
of builds with other pages follows from the number of rows per page (the tests load it). A data size is always
converted to the scale that it has with usual pages: servers with other pages are compared over the same rows.
Classes as in T. Vondra, "PostgreSQL na EXT3/4, XFS, BTRFS a ZFS" (FOSDEM PgDay 2016): small about 200 MB,
medium about 50 % of RAM, large about 200 % of RAM.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, assert_never

from app.domain.campaign.configuration import BuiltinScript, DataSize, Script, Workload
from app.domain.campaign.phases import all_workloads
from app.domain.errors import CampaignError
from app.domain.options.option_spec import USUAL_PAGE_BYTES
from app.domain.text import MIB, format_size, number_text, tr
from app.postgres.pgbench.script_demands import without_comments

_ROWS_PER_SCALE: Final = 100_000
_ROW_BYTES: Final = 132
"""A row of pgbench_accounts on a page: header 24, columns 97, padded to 128, and its line pointer 4."""
_PAGE_HEADER_BYTES: Final = 24
_INDEX_BYTES: Final = round(2.15 * MIB)
BYTES_PER_SCALE: Final = round(14.96 * MIB)
CATALOGUE_BYTES: Final = round(7.5 * MIB)
CATALOGUE_PAGES: Final = 381
"""Growth of the catalogue in units of the page size (measured: 6.1, 7.8, 10.8 and 17.1 MB with pages of 4, 8,
16 and 32 kB).
"""
SMALL_BYTES: Final = 200_000_000
MEDIUM_RAM_SHARE: Final = 0.5
LARGE_RAM_SHARE: Final = 2.0
_SMALL_TABLES: Final = {"pgbench_branches": 1, "pgbench_tellers": 10}
"""Rows per unit of scale, of the pgbench tables that may have fewer rows than clients."""
_UPDATES: Final = re.compile(
    r"\b(?:update|delete\s+from|merge\s+into|for\s+(?:no\s+key\s+)?update)\b", re.IGNORECASE
)
"""Statements that lock a row against other writers."""
MAX_SCALE: Final = 2**31 - 1
"""``pgbench --scale`` is a C int (pgbench.c of 15: option_parse_int(..., 1, INT_MAX))."""


@dataclass(frozen=True, slots=True)
class ScaleChoice:
    """The scale of a run and its reason.

    Attributes:
        scale: argument of ``pgbench --initialize --scale``.
        data_bytes: expected size of the loaded database.
        reason: one sentence: where the scale comes from.
        is_contended: scripts update fewer rows than there are clients, so that clients wait for each other.
    """

    scale: int
    data_bytes: int
    reason: str
    is_contended: bool = False


_CLASS: Final = tr("class “{name}”: {share} % of {ram} RAM")


def bytes_per_scale(page_bytes: int) -> int:
    """Return the size of one unit of scale with this page size."""
    if page_bytes == USUAL_PAGE_BYTES:
        return BYTES_PER_SCALE
    pages = math.ceil(_ROWS_PER_SCALE / ((page_bytes - _PAGE_HEADER_BYTES) // _ROW_BYTES))
    return pages * page_bytes + _INDEX_BYTES


def data_bytes_of(scale: int, page_bytes: int = USUAL_PAGE_BYTES) -> int:
    """Return the expected size in bytes of a freshly loaded pgbench database of this scale.

    The catalogue grows with the page size: most of its relations are smaller than a page, or end in one.
    """
    catalogue = CATALOGUE_BYTES + CATALOGUE_PAGES * (page_bytes - USUAL_PAGE_BYTES)
    return catalogue + scale * bytes_per_scale(page_bytes)


def scale_for(data_bytes: float) -> int:
    """Return the smallest scale, at least 1, with a database of at least `data_bytes`."""
    return max(1, math.ceil((data_bytes - CATALOGUE_BYTES) / BYTES_PER_SCALE))


def _wanted(size: DataSize | int, ram_bytes: int) -> tuple[float, str]:
    """Return the wanted bytes and where they come from."""
    match size:
        case DataSize.SMALL:
            return SMALL_BYTES, tr("class “small”: about 200 MB")
        case DataSize.MEDIUM:
            ram = format_size(ram_bytes)
            return ram_bytes * MEDIUM_RAM_SHARE, _CLASS.format(name="medium", share=50, ram=ram)
        case DataSize.LARGE:
            ram = format_size(ram_bytes)
            return ram_bytes * LARGE_RAM_SHARE, _CLASS.format(name="large", share=200, ram=ram)
        case int():
            return size, tr("specified size of {size}").format(size=format_size(size))
        case _:
            assert_never(size)


def resolve_scale(workload: Workload, ram_bytes: int, page_bytes: int = USUAL_PAGE_BYTES) -> ScaleChoice:
    """Return the scale for a workload on a machine with `ram_bytes` (the memory limit, if lower).

    A size is raised to one unit of scale per client if scripts update shared rows: with fewer branches than
    clients TPC-B-like transactions mostly measure waiting for row locks (pgbench manual, "Good Practices"). A
    given scale is kept, and marked contended instead. The user's own scripts get the same tables.

    Raises:
        CampaignError: scale or size is missing, below one or beyond pgbench's maximum.
    """
    if workload.scale is not None:
        scale, reason = workload.scale, tr("specified scale")
        field = "workload.scale"
    elif workload.size is not None:
        wanted, reason = _wanted(workload.size, ram_bytes)
        scale, field = scale_for(wanted), "workload.size"
        if scale < uncontended_scale(workload):
            scale = uncontended_scale(workload)
            reason += " " + tr("(raised to the number of clients)")
    else:
        raise CampaignError(
            tr("Neither workload.scale nor workload.size is given."),
            field="workload.scale",
            hint=tr("Give a scale such as 100, or a size: small, medium, large or bytes."),
        )
    if not 1 <= scale <= MAX_SCALE:
        raise CampaignError(
            tr("{field}: scale {scale} is outside 1 to {limit}.").format(
                field=field, scale=scale, limit=MAX_SCALE
            ),
            field=field,
            hint=tr("Scale 1 is about 15 MiB of data; pgbench accepts scales up to 2147483647."),
        )
    return ScaleChoice(
        scale, data_bytes_of(scale, page_bytes), reason, is_contended=scale < uncontended_scale(workload)
    )


def uncontended_scale(workload: Workload) -> int:
    """Return the least scale at which each client can update its own row; 0 if no rows are shared."""
    return max(
        math.ceil(part.clients / rows)
        for part in all_workloads(workload)
        for rows in (min(map(_shared_rows, part.scripts), default=math.inf),)
    )


def _shared_rows(script: Script) -> float:
    """Return the rows per unit of scale of the smallest table that a script updates."""
    if script.builtin is not None:
        return 1 if script.builtin is BuiltinScript.TPCB_LIKE else math.inf
    statements = without_comments(script.text, in_bodies=True).split(";")
    writing = [each for each in statements if _UPDATES.search(each)]
    return min(
        (rows for table, rows in _SMALL_TABLES.items() if any(table in each.lower() for each in writing)),
        default=math.inf,
    )


# Data with a given compressibility in pgbench's tables, generated by the server during loading. Pure.
#
# ``pgbench --initialize`` fills each row of pgbench_accounts with 84 blanks, and such tables compress about
# 30:1 (zstd -3). Here the column `filler` of pgbench_accounts and pgbench_history has type bytea, because
# text cannot hold random bytes. It starts with random bytes and ends with zeros, in a proportion with which
# zstd -3, over pieces of 128 KiB of the heap, reaches the given ratio. Everything else is as in pgbench: rows
# of pgbench_accounts take the same 128 bytes, because a filler of 91 bytes fills the alignment padding.
#
# Rows are inserted once and never updated during loading. Random bytes are hashes of the row's key, so that
# every configuration loads the same ones. They come from the hash functions for partitions, which no version
# may change, and which are nearly three times as fast as SHA-512 (0.7 against 1.9 us for 64 bytes). An update
# of pgbench_accounts copies the filler; an insert into pgbench_history omits it, and the column's default
# generates the same kind of filler: pgbench's own scripts and those of users need no change.
#
# Headers and keys of rows compress even if the filler does not: 1.4:1 is the minimum for rows of this size.
# For PostgreSQL 13 and later.


LEAST_RATIO: Final = 1.4
"""Ratio of a filler of random bytes only (measured: 1.40)."""
MOST_RATIO: Final = 10.0
"""Above it one byte changes the ratio by a tenth."""

_STORED_ROW_BYTES: Final = 134.3
"""A row's share of a page of 8 KiB, which has 61 of them; nearly the same with other pages."""
_REST_BYTES: Final = 4.9
"""Size after zstd -3 of a row without its filler (measured: 4.6 to 5.2)."""
_FILLER_BYTES: Final = 91
_HISTORY_BYTES: Final = 22
_HASH_BYTES: Final = 8


def ratio_words(ratio: float | None) -> str:
    """Return a compression ratio in words, such as ``2:1``.

    Args:
        ratio: None for pgbench's own rows.
    """
    if ratio is None:
        return tr("pgbench's own, mostly blanks")
    return f"{number_text(float(f'{ratio:.2g}'), 'g')}:1"


def random_bytes(ratio: float) -> int:
    """Return the number of random bytes in an account's filler for a compression ratio of the heap."""
    return min(_FILLER_BYTES, max(0, round(_STORED_ROW_BYTES / ratio - _REST_BYTES)))


def load_script(ratio: float) -> str:
    """Return a pgbench script in which every transaction loads one unit of scale.

    It continues at the end of the tables; the first one changes the type of the still empty columns.

    Args:
        ratio: from `LEAST_RATIO` to `MOST_RATIO`.
    """
    count = random_bytes(ratio)
    return f"""\
SELECT count(*) AS loaded FROM pgbench_branches \\gset
\\if :loaded = 0
ALTER TABLE pgbench_accounts ALTER COLUMN filler TYPE bytea USING NULL;
ALTER TABLE pgbench_history ALTER COLUMN filler TYPE bytea USING NULL,
  ALTER COLUMN filler SET DEFAULT {_history_filler(count)};
\\endif
BEGIN;
INSERT INTO pgbench_branches (bid, bbalance) VALUES (:loaded + 1, 0);
INSERT INTO pgbench_tellers (tid, bid, tbalance)
  SELECT generate_series(:loaded * 10 + 1, :loaded * 10 + 10), :loaded + 1, 0;
INSERT INTO pgbench_accounts (aid, bid, abalance, filler)
  SELECT aid, :loaded + 1, 0, {_account_filler(count)}
    FROM (SELECT generate_series(:loaded * 100000::bigint + 1, (:loaded + 1) * 100000::bigint) AS aid) AS key;
COMMIT;
"""


def _account_filler(count: int) -> str:
    seeds = range(math.ceil(count / _HASH_BYTES))
    hashes = " || ".join(f"int8send(hashint8extended(aid, {seed}))" for seed in seeds)
    return f"substring({hashes} FROM 1 FOR {count}){_zeros(_FILLER_BYTES - count)}"


def _history_filler(accounts_count: int) -> str:
    count = round(accounts_count / _FILLER_BYTES * _HISTORY_BYTES)
    return f"substring(sha256(float8send(random())) FROM 1 FOR {count}){_zeros(_HISTORY_BYTES - count)}"


def _zeros(count: int) -> str:
    return f" || decode('{'00' * count}', 'hex')" if count else ""
