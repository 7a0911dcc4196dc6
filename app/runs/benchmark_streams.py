"""What a running pgbench says: progress lines and transaction log, followed while it writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import IO, Final

from app.domain.metrics import Sample
from app.hosts.site import Site, open_private
from app.postgres.pgbench_argv import TransactionLog
from app.postgres.pgbench_log import LogFormat
from app.postgres.pgbench_log_tail import TransactionLogTail
from app.postgres.pgbench_progress import ProgressLine, parse_progress
from app.postgres.second_histograms import SecondHistograms, SecondLatencies

_READ_BYTES: Final = 1 << 20


class TextTail:
    """Follows a text file of the private folder; yields what was added, cut at line ends."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._rest = b""

    def poll(self) -> str:
        """Return the complete lines that were added since the last call."""
        parts = [self._rest]
        while chunk := self._file.read(_READ_BYTES):
            parts.append(chunk)
        text = b"".join(parts)
        end = text.rfind(b"\n") + 1
        self._rest = text[end:]
        return text[:end].decode("utf-8", "replace")

    def finish(self) -> str:
        """Return what is left, also a last line without its end, and close the file."""
        text = self.poll() + self._rest.decode("utf-8", "replace")
        self._rest = b""
        self._file.close()
        return text


def progress_samples(line: ProgressLine) -> list[Sample]:
    """Return the samples of one progress line; what is not a number is left out."""
    values = {
        "pgbench.tps": line.tps,
        "pgbench.latency_mean": line.latency_ms,
        "pgbench.latency_stddev": line.stddev_ms,
        "pgbench.failed": line.failed or None,
        "pgbench.lag": line.lag_ms,
        "pgbench.skipped": line.skipped,
        "pgbench.retried": line.retried,
    }
    return [
        Sample(metric, float(value))
        for metric, value in values.items()
        if value is not None and value == value and abs(value) != float("inf")  # noqa: PLR0124 - not a NaN
    ]


@dataclass(slots=True)
class BenchmarkNews:
    """What was new at one look.

    Attributes:
        text: what pgbench printed to stderr, verbatim.
        lines: its progress lines.
        seconds: latencies of the seconds that got new transactions, each with all of them.
        complete_before: every thread's log has been read up to this second (counted from the start);
            None where there is no log.
    """

    text: str = ""
    lines: list[ProgressLine] = field(default_factory=list)
    seconds: tuple[SecondLatencies, ...] = ()
    complete_before: int | None = None


class BenchmarkStreams:
    """Follows one pgbench process. Used from the runner's main thread."""

    def __init__(self, site: Site, name: str) -> None:
        """Follow the progress lines in ``NAME.stderr`` of the private folder."""
        self._errors = TextTail(open_private(site, f"{name}.stderr"))
        self._site = site
        self._log: TransactionLogTail | None = None
        self._seconds: SecondHistograms | None = None
        self._threads = 1

    def follow_log(self, log: TransactionLog, pid: int, log_format: LogFormat, *, origin_us: int) -> None:
        """Follow the transaction log as well; `origin_us` is when its second 0 begins, since the epoch."""
        prefix = log.prefix.rsplit("/", 1)[-1]
        self._log = TransactionLogTail(self._site.private_directory, prefix, pid, log_format)
        self._seconds = SecondHistograms(origin_us)

    def poll(self) -> BenchmarkNews:
        """Return what is new; never waits."""
        return self._news(self._errors.poll(), ended=False)

    def finish(self) -> BenchmarkNews:
        """Return everything that is left once pgbench has ended, and close."""
        news = self._news(self._errors.finish(), ended=True)
        if self._log is not None:
            self._log.close()
            self._log = None
        return news

    def _news(self, text: str, *, ended: bool) -> BenchmarkNews:
        parsed = (parse_progress(line) for line in text.splitlines())
        news = BenchmarkNews(text, [line for line in parsed if line is not None])
        if self._log is not None and self._seconds is not None:
            for batch in self._log.drain() if ended else self._log.poll():
                self._seconds.add(batch)
            news.seconds = self._seconds.take_changed()
            read_up_to_us = self._log.read_up_to_us
            if read_up_to_us is not None:
                news.complete_before = (read_up_to_us - self._seconds.origin_us) // 1_000_000
        return news
