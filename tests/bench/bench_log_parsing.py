"""What reading the transaction log costs: nanoseconds of CPU time a line, next to the plain way, in one run.

Also how large an hour of per-second histograms is. Figures are medians of interleaved rounds on one core; the
"live log" is a file in memory that grows between polls, with all that a run does to it: write (pgbench's
part), read, parse, sort into seconds, give memory back.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.postgres.pgbench.histogram import Histogram
from app.postgres.pgbench.log_tail import TransactionLogTail
from app.postgres.pgbench.second_histograms import SecondHistograms
from app.postgres.pgbench.transaction_log import LogFormat, parse_transactions

ROUNDS = 7
LINES = 300_000
ORIGIN_S = 1_795_171_066
CHUNKS = {"64 KiB": 1 << 16, "1 MiB": 1 << 20}
HOUR_S = 3600


def make_log(lines: int, tps: int) -> bytes:
    """Return a log as pgbench writes it for select-only: 32 bytes a line, 4 clients."""
    random = np.random.default_rng(20030401)
    latency_us = random.lognormal(4.2, 0.4, lines).astype(np.int64)
    epoch_us = ORIGIN_S * 1_000_000 + np.cumsum(random.integers(0, 2_000_000 // tps, lines))
    columns = zip(range(lines), latency_us.tolist(), epoch_us.tolist(), strict=True)
    return b"".join(
        b"%d %d %d 0 %d %d\n" % (number % 4, number // 4, latency, *divmod(end, 1_000_000))
        for number, latency, end in columns
    )


def chunks(log: bytes, size_bytes: int) -> list[bytes]:
    """Return the log in pieces of whole lines."""
    found, position = [], 0
    while position < len(log):
        end = log.rfind(b"\n", position, position + size_bytes) + 1
        found.append(log[position:end])
        position = end
    return found


def with_split(pieces: list[bytes]) -> int:
    """The plain way: split all words, make numbers of two columns and a histogram of each second."""
    seconds: dict[int, NDArray[np.int64]] = {}
    count = 0
    for piece in pieces:
        words = piece.split()
        latency_us = np.array([int(word) for word in words[2::6]], np.int64)
        epoch_s = np.array([int(word) for word in words[4::6]], np.int64)
        for second in np.unique(epoch_s).tolist():
            seconds[second] = np.bincount(latency_us[epoch_s == second])
        count += len(latency_us)
    return count


def parse_only(pieces: list[bytes]) -> int:
    """Columns of numbers, checked."""
    return sum(parse_transactions(piece, LogFormat()).transactions for piece in pieces)


def parse_and_sort(pieces: list[bytes]) -> int:
    """What a live run does, without the file."""
    seconds = SecondHistograms(ORIGIN_S * 1_000_000)
    for piece in pieces:
        seconds.add(parse_transactions(piece, LogFormat()))
    return sum(second.transactions for second in seconds)


def tail_in_memory(log: bytes, polls: int) -> int:
    """What a live run does: the file grows, is polled, parsed, sorted and punched."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        path = Path(name) / f"log.{os.getpid()}"
        seconds = SecondHistograms(ORIGIN_S * 1_000_000)
        with (
            closing(TransactionLogTail(name, "log", os.getpid(), LogFormat())) as tail,
            path.open("ab", 0) as file,
        ):
            for piece in chunks(log, len(log) // polls + 64):
                file.write(piece)
                for batch in tail.poll():
                    seconds.add(batch)
        return sum(second.transactions for second in seconds)


def measure(variants: dict[str, Callable[[], int]], rounds: int) -> dict[str, float]:
    """Return nanoseconds of CPU time a line: the median of rounds in which every variant has its turn."""
    found: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, run in variants.items():
            begin_ns = time.process_time_ns()
            count = run()
            found[name].append((time.process_time_ns() - begin_ns) / count)
            if count != LINES:
                raise AssertionError(f"{name} read {count} of {LINES} lines")
    return {name: statistics.median(values) for name, values in found.items()}


def report_parsing(rounds: int) -> None:
    """Print the cost of each way and its ratio to the plain one."""
    log = make_log(LINES, tps=60_000)
    variants: dict[str, Callable[[], int]] = {}
    for label, size_bytes in CHUNKS.items():
        pieces = chunks(log, size_bytes)
        variants[f"bytes.split, {label}"] = lambda pieces=pieces: with_split(pieces)  # type: ignore[misc]
        variants[f"parser, {label}"] = lambda pieces=pieces: parse_only(pieces)  # type: ignore[misc]
        variants[f"parser + seconds, {label}"] = lambda pieces=pieces: parse_and_sort(pieces)  # type: ignore[misc]
    variants["live log, 10 polls a second"] = lambda: tail_in_memory(log, polls=LINES // 6_000)
    variants["live log, 1 poll a second"] = lambda: tail_in_memory(log, polls=LINES // 60_000)
    figures = measure(variants, rounds)
    plain = figures["bytes.split, 1 MiB"]
    print(f"{LINES} lines of {len(log) / LINES:.1f} bytes, CPU time, median of {rounds} interleaved rounds")
    for name, ns in figures.items():
        print(f"  {name:32} {ns:7.1f} ns/line   {ns / plain:5.2f} of bytes.split")
    live = figures["live log, 1 poll a second"]
    print(f"  a full log of 60 000 TPS costs {live * 60_000 / 1e9:.2%} of a core")


def report_size() -> None:
    """Print how large an hour of histograms is, and what encoding costs."""
    random = np.random.default_rng(20110421)
    for tps in (100, 1_000, 10_000):
        size_bytes, encode_s, decode_s, seconds = 0, 0.0, 0.0, 200
        for _ in range(seconds):
            latency_us = random.lognormal(6, 0.45, tps).astype(np.int64)
            latency_us[: tps // 300] *= 20  # a checkpoint's victims
            histogram = Histogram.of(latency_us)
            begin_s = time.process_time()
            encoded = histogram.encode()
            middle_s = time.process_time()
            Histogram.decode(encoded)
            encode_s, decode_s = encode_s + middle_s - begin_s, decode_s + time.process_time() - middle_s
            size_bytes += len(encoded)
        per_second, per_hour_mb = size_bytes / seconds, size_bytes / seconds * HOUR_S / 1e6
        encode_us, decode_us = encode_s / seconds * 1e6, decode_s / seconds * 1e6
        print(f"  {tps:6} TPS: {per_second:4.0f} bytes a second, {per_hour_mb:.2f} MB an hour;", end=" ")
        print(f"encode {encode_us:.0f} µs, decode {decode_us:.0f} µs a second")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round: to see that it works")
    report_parsing(1 if parser.parse_args().quick else ROUNDS)
    print("per-second histograms, encoded one by one (log-normal latencies with a heavy tail)")
    report_size()
