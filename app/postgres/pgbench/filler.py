"""Data with a stated compressibility in pgbench's tables: made by the server while it is loaded. Pure.

``pgbench --initialize`` fills each row of pgbench_accounts with 84 blanks, and such tables compress about
30:1 (zstd -3). Here the column `filler` of pgbench_accounts and pgbench_history is of type bytea, because
texts cannot hold random bytes. It begins with random bytes and ends with zeros, so many of each that
zstd -3, over pieces of 128 KiB of the heap, reaches the stated ratio. Everything else is as pgbench makes it:
rows of pgbench_accounts take the same 128 bytes, because a filler of 91 bytes fills what alignment leaves
empty.

Rows are inserted once and never updated while loading. Random bytes are hashes of the row's key, so that
every configuration loads the same ones: of the hash functions for partitions, which no version may change,
and nearly three times as fast as SHA-512 (0.7 against 1.9 us for 64 bytes). An update of pgbench_accounts
copies the filler; an insert into pgbench_history leaves it out, and the column's default writes filler of the
same kind: scripts, pgbench's own and others, stay as they are.

Headers and keys of rows compress even where the filler does not: 1.4:1 is the least that rows of this size
have. For PostgreSQL 13 and later.
"""

from __future__ import annotations

import math
from typing import Final

LEAST_RATIO: Final = 1.4
"""What a filler of random bytes alone reaches (measured: 1.40)."""
MOST_RATIO: Final = 10.0
"""Above it a byte more or less changes the ratio by a tenth."""

_ROW_BYTES: Final = 134.3
"""A row's share of a page of 8 KiB, which has 61 of them; nearly the same with other pages."""
_REST_BYTES: Final = 4.9
"""What zstd -3 makes of all that is not filler in a row (measured: 4.6 to 5.2)."""
_FILLER_BYTES: Final = 91
_HISTORY_BYTES: Final = 22
_HASH_BYTES: Final = 8


def random_bytes(ratio: float) -> int:
    """Return how many bytes of the filler of an account are random, so that the heap has this ratio."""
    return min(_FILLER_BYTES, max(0, round(_ROW_BYTES / ratio - _REST_BYTES)))


def load_script(ratio: float) -> str:
    """Return a script of pgbench whose every transaction loads one unit of scale.

    It goes on where the tables end; the first one changes the type of the still empty columns.

    Args:
        ratio: of `LEAST_RATIO` to `MOST_RATIO`.
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
