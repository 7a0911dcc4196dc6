"""Follow the progress lines and the transaction log of a running pgbench."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Final

from app.domain.campaign.configuration import Script
from app.domain.errors import PgbenchError
from app.domain.metrics import Sample
from app.domain.text import tr
from app.hosts.folders.private_folder import PrivateFolder, open_private
from app.postgres.pgbench.argv import TransactionLog
from app.postgres.pgbench.histogram import SecondHistograms, SecondLatencies
from app.postgres.pgbench.summary import ProgressLine, parse_progress
from app.postgres.pgbench.transaction_log import LogFormat, TransactionLogTail

_READ_BYTES: Final = 1 << 20
_READS_A_POLL: Final = 16
_OTHER_WORDS_BYTES: Final = 256 * 1024
"""Limit for lines other than progress: a script with notices fills gigabytes in an hour."""


class TextTail:
    """Follows a text file of the private folder; returns additions, cut at line ends."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._rest = b""

    def poll(self) -> str:
        """Return the complete lines added since the last call, at most 16 MiB."""
        parts = [self._rest]
        for _ in range(_READS_A_POLL):
            chunk = self._file.read(_READ_BYTES)
            if not chunk:
                break
            parts.append(chunk)
        text = b"".join(parts)
        end = text.rfind(b"\n") + 1
        self._rest = text[end:]
        return text[:end].decode("utf-8", "replace")

    def finish(self) -> Iterator[str]:
        """Yield the rest, including a last line without an end, and close the file."""
        while text := self.poll():
            yield text
        rest, self._rest = self._rest.decode("utf-8", "replace"), b""
        self._file.close()
        if rest:
            yield rest


def progress_samples(line: ProgressLine) -> list[Sample]:
    """Return the samples of one progress line; skip values that are not finite."""
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
class StreamUpdate:
    """News since the last poll.

    Attributes:
        others: stderr of pgbench except progress lines.
        lines: its progress lines.
        seconds: latencies of the seconds with new transactions, each with all of them.
        complete_before: every thread's log has been read up to this second (counted from the start); None
            without a log.
        lost_log: why the transaction log cannot be read any more; empty while it can.
    """

    others: str = ""
    lines: list[ProgressLine] = field(default_factory=list)
    seconds: tuple[SecondLatencies, ...] = ()
    complete_before: int | None = None
    lost_log: str = ""


class BenchmarkStreams:
    """Follows one pgbench process. Used from the runner's main thread.

    A damaged or unreadable transaction log is given up with a reason, and the run continues: TPS come from
    the progress lines, which are required.
    """

    def __init__(self, folder: PrivateFolder, name: str) -> None:
        """Follow the progress lines in ``NAME.stderr`` of the private folder.

        Raises:
            PgbenchError: they cannot be read.
        """
        try:
            self._errors = TextTail(open_private(folder, f"{name}.stderr"))
        except OSError as error:
            raise _unreadable(error) from error
        self._folder = folder
        self._log: TransactionLogTail | None = None
        self._seconds: SecondHistograms | None = None
        self._kept: list[str] = []
        self._others_bytes = 0
        self._dropped = 0
        self.log_is_whole = False

    @property
    def text(self) -> str:
        """The stderr of pgbench so far: verbatim, but limited to the beginning of a flood of messages."""
        text = "".join(self._kept)
        if self._dropped:
            text += tr("[{count} lines omitted]").format(count=self._dropped) + "\n"
        return text

    def follow_log(self, log: TransactionLog, pid: int, log_format: LogFormat, *, origin_us: int) -> str:
        """Follow the transaction log as well; return why that is not possible, or an empty string.

        Args:
            log: as passed to pgbench.
            pid: of pgbench.
            log_format: fields of its lines.
            origin_us: start of second 0, since the epoch.
        """
        prefix = log.prefix.rsplit("/", 1)[-1]
        try:
            self._log = TransactionLogTail(self._folder.path, prefix, pid, log_format)
        except PgbenchError as error:
            return error.message
        self._seconds = SecondHistograms(origin_us)
        self.log_is_whole = True
        return ""

    def poll(self) -> StreamUpdate:
        """Return the news; never waits.

        Raises:
            PgbenchError: pgbench's progress cannot be read.
        """
        try:
            texts = [self._errors.poll()]
        except OSError as error:
            raise _unreadable(error) from error
        return self._news(texts, ended=False)

    def finish(self) -> StreamUpdate:
        """Return the rest after pgbench has ended, and close.

        Raises:
            PgbenchError: pgbench's progress cannot be read.
        """
        try:
            return self._news(self._errors.finish(), ended=True)
        except OSError as error:
            raise _unreadable(error) from error
        finally:
            self._close_log()

    def _close_log(self) -> None:
        log, self._log = self._log, None
        if log is not None:
            log.close()

    def _news(self, texts: Iterable[str], *, ended: bool) -> StreamUpdate:
        news = StreamUpdate()
        for text in texts:
            self._take_lines(text, news)
        if self._log is not None and self._seconds is not None:
            try:
                self._take_log(self._log, self._seconds, news, ended=ended)
            except (PgbenchError, OSError) as error:
                news.lost_log = error.message if isinstance(error, PgbenchError) else str(error)
                self.log_is_whole = False
                self._close_log()
            news.seconds = self._seconds.take_changed()
        return news

    def _take_lines(self, text: str, news: StreamUpdate) -> None:
        for line in text.splitlines(keepends=True):
            parsed = parse_progress(line.rstrip("\n"))
            if parsed is not None:
                news.lines.append(parsed)
            elif self._others_bytes + len(line) > _OTHER_WORDS_BYTES:
                self._dropped += 1
                continue
            else:
                self._others_bytes += len(line)
                news.others += line
            self._kept.append(line)

    @staticmethod
    def _take_log(
        log: TransactionLogTail, seconds: SecondHistograms, news: StreamUpdate, *, ended: bool
    ) -> None:
        for batch in log.drain() if ended else log.poll():
            seconds.add(batch)
        if log.read_up_to_us is not None:
            news.complete_before = (log.read_up_to_us - seconds.origin_us) // 1_000_000


def _unreadable(error: OSError) -> PgbenchError:
    message = tr("pgbench's output cannot be read: {reason}.")
    return PgbenchError(message.format(reason=error.strerror or error))


# Explain a failed benchmark by the messages of pgbench or the server, with the user's own file names.


_COMPLAINT: Final = re.compile(r"^pgbench: (?:error|fatal|warning): (?P<text>.*\S)\s*$")
_ABORTED: Final = re.compile(r"^pgbench: (?:error|fatal): client \d+ (?:script \d+ )?aborted\b", re.MULTILINE)
"""pgbench 13 to 18, commandFailed() and related functions: the other clients continue, but the run is
lost.
"""
_CLIENT: Final = re.compile(r"\bclient \d+\b")
_SCRIPT: Final = re.compile(r"\bscript (?P<number>\d+)\b")
_USELESS: Final = ("Run was aborted",)
_CRASH: Final = re.compile(r"\bLOG:\s+(?P<text>[\w ]*process \(PID \d+\) (?:was terminated|exited) .*\S)\s*$")
_PANIC: Final = re.compile(r"\bPANIC:\s+(?P<text>.*\S)\s*$")
_MOST_COMPLAINTS: Final = 2


def reports_aborted(text: str) -> bool:
    """Return whether pgbench says that a client gave up, after which its figures are incomplete."""
    return _ABORTED.search(text) is not None


def failure_reason(stderr: str, scripts: Sequence[Script], paths: Mapping[str, str]) -> str:
    """Return why pgbench failed, from its error output; empty if it printed nothing.

    The first messages tell the cause, the last ones only that there was one; the same message of several
    clients appears once.

    Args:
        stderr: its whole error output.
        scripts: of the workload, in pgbench's order.
        paths: the user's file names by the names passed to pgbench.
    """
    found: dict[str, str] = {}
    lines = stderr.splitlines()
    for number, line in enumerate(lines):
        match = _COMPLAINT.match(line)
        if match is None or match["text"].startswith(_USELESS):
            continue
        text = match["text"]
        context = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if context and not context.startswith(("pgbench:", "progress:", "^")):
            text = f"{text} ({context})"
        found.setdefault(_CLIENT.sub("client", text), text)
    reason = "; ".join(list(found.values())[:_MOST_COMPLAINTS])
    if not reason:
        reason = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return _in_known_names(reason, scripts, paths)


def _in_known_names(text: str, scripts: Sequence[Script], paths: Mapping[str, str]) -> str:
    for given, known in paths.items():
        text = text.replace(given, known)

    def named(match: re.Match[str]) -> str:
        number = int(match["number"])
        if number >= len(scripts):
            return match[0]
        return tr("script {number}").format(number=number) + f" ({scripts[number].label})"

    return _SCRIPT.sub(named, text)


def crash_reason(server_log: str) -> str:
    """Return the server's own line about a crashed server process; empty if none crashed.

    A process that cannot continue (an I/O error of the WAL, say) logs the reason as PANIC and aborts itself.
    """
    lines = server_log.splitlines()
    for number in reversed(range(len(lines))):
        match = _CRASH.search(lines[number])
        if match:
            panics = [found["text"] for line in lines[:number] if (found := _PANIC.search(line))]
            return f"{panics[-1]} ({match['text']})" if panics else match["text"]
    return ""
