"""Transaction logs with known content, written as pgbench writes them."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

START_US = 1_700_000_000_250_000


@dataclass(frozen=True, slots=True)
class Made:
    """What a made log holds.

    Attributes:
        per_second: transactions that ended in each second after the start, logged or not.
        logged: lines.
        summary: what pgbench would print.
    """

    per_second: list[int]
    logged: int
    summary: str


def summary_text(transactions: int, tps: float, *, seconds: int, clients: int = 4, threads: int = 2) -> str:
    """The summary of pgbench 15."""
    return (
        "pgbench (15.4)\n"
        "transaction type: <builtin: simple update>\n"
        "scaling factor: 10\n"
        "query mode: prepared\n"
        f"number of clients: {clients}\n"
        f"number of threads: {threads}\n"
        "maximum number of tries: 1\n"
        f"duration: {seconds} s\n"
        f"number of transactions actually processed: {transactions}\n"
        "number of failed transactions: 0 (0.000%)\n"
        "latency average = 1.000 ms\n"
        "initial connection time = 3.000 ms\n"
        f"tps = {tps:.6f} (without initial connection time)\n"
    )


def write_log(
    folder: Path,
    tps: Sequence[int],
    *,
    rate: float = 1.0,
    pid: int = 4711,
    threads: int = 2,
    start_us: int = START_US,
) -> Made:
    """Write the logs of all threads; the first transaction starts at `start_us`, all last 1 ms.

    Args:
        folder: gets ``pgbench_log.PID`` and ``pgbench_log.PID.N``.
        tps: transactions of each second.
        rate: of sampling.
        pid: of pgbench.
        threads: each with two clients.
        start_us: since the epoch.
    """
    random = np.random.default_rng(pid)
    counters = dict.fromkeys(range(2 * threads), 0)
    texts: list[list[str]] = [[] for _ in range(threads)]
    number = 0
    for second, count in enumerate(tps):
        for place in range(count):
            client = number % (2 * threads)
            counters[client] += 1
            end_us = start_us + second * 1_000_000 + max(1000, place * 1_000_000 // count)
            number += 1
            if rate == 1 or random.random() < rate:
                line = f"{client} {counters[client]} 1000 0 {end_us // 1_000_000} {end_us % 1_000_000}\n"
                texts[client % threads].append(line)
    folder.mkdir(parents=True, exist_ok=True)
    for thread, lines in enumerate(texts):
        end = f".{thread}" if thread else ""
        (folder / f"pgbench_log.{pid}{end}").write_text("".join(lines))
    total = sum(tps)
    text = summary_text(total, total / len(tps), seconds=len(tps), clients=2 * threads, threads=threads)
    return Made(list(tps), sum(map(len, texts)), text)


def tar_of(path: Path, members: Mapping[str, bytes], *, packed: bool = True) -> Path:
    """Write an archive with these members."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    path.write_bytes(gzip.compress(whole.getvalue()) if packed else whole.getvalue())
    return path
