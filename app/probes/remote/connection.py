"""One ssh connection to the machine of a server: send the program, send requests, read answers.

Output that is not understood is discarded, an answer is bounded in size and time, and every failure is a
sentence. Nothing is written there; the program ends with the connection.

`machine.sh` prints lines of ``pgfooting TOKEN KIND`` and tab-separated fields. The token is random for each
connection: output of login shells, of messages of the day or of programs in between does not have it. The
remote side is not trusted: sizes are limited, control characters are removed.
"""

from __future__ import annotations

import os
import secrets
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Final

from app.domain.errors import ProgramError
from app.domain.text import tr
from app.probes.base.probe import CONNECT_TIMEOUT_S, ProbeUnavailable, SshDestination, explain, strip_controls
from app.process.account import SEARCH_PATH
from app.process.spawn import end
from app.process.starter import BoundedOutput, current_account, spawn

FORMAT: Final = "1"
"""Format number in the first line; other formats are not understood."""

LONGEST_LINE: Final = 16384
"""Bytes; longer lines are discarded."""

_MOST_FIELDS: Final = 200


class LineKind(StrEnum):
    """Kinds of lines, with their fields."""

    HELLO = "H"
    """Format, system: the first line."""
    FACT = "F"
    """Name, value."""
    DEVICE = "D"
    """Device, name, value."""
    PROPERTY = "P"
    """ZFS object, name, value."""
    OUTPUT = "O"
    """Program, a line of its output for the facts."""
    SAMPLE = "S"
    """Number of the request, ``name=value`` each."""
    END = "E"
    """The request that is complete."""


_FEWEST_FIELDS: Final = {
    LineKind.HELLO: 2,
    LineKind.FACT: 2,
    LineKind.DEVICE: 3,
    LineKind.PROPERTY: 3,
    LineKind.OUTPUT: 2,
    LineKind.SAMPLE: 1,
    LineKind.END: 1,
}


@dataclass(frozen=True, slots=True)
class RemoteLine:
    """One valid line.

    Attributes:
        kind: determines the fields.
        fields: at least as many as `LineKind` says, of printable text.
    """

    kind: LineKind
    fields: tuple[str, ...]


def parse_line(line: bytes, token: str) -> RemoteLine | None:
    """Parse a line; return None if it is not from the program with this token."""
    head, *fields = line.split(b"\t", _MOST_FIELDS)
    words = head.split(b" ")
    if len(words) != 3 or words[0] != b"pgfooting" or words[1] != token.encode():
        return None
    try:
        kind = LineKind(words[2].decode("ascii", "replace"))
    except ValueError:
        return None
    if not _FEWEST_FIELDS[kind] <= len(fields) <= _MOST_FIELDS:
        return None
    return RemoteLine(kind, tuple(strip_controls(field.decode("utf-8", "replace")) for field in fields))


class LineReader:
    """Splits a byte stream into lines; buffers at most one line.

    Attributes:
        foreign: number of lines without our token, or too long.
    """

    def __init__(self, token: str) -> None:
        self.foreign = 0
        self._token = token
        self._mark = f"pgfooting {token} ".encode()
        self._begun = bytearray()
        self._too_long = False

    def feed(self, part: bytes) -> list[RemoteLine]:
        """Add received bytes and return the lines that are now complete.

        Only lines with our prefix are parsed: a shell that prints endlessly (``yes``) sends two million lines
        before the size limit, which must not take as long as a timeout.
        """
        first, *more = part.split(b"\n")
        self._add(first)
        if not more:
            return []
        found = self._finish()
        *whole, last = more
        ours = [line for line in whole if line.startswith(self._mark)]
        self.foreign += len(whole) - len(ours)
        for line in ours:
            self._add(line)
            found += self._finish()
        self._add(last)
        return found

    def _add(self, part: bytes) -> None:
        if self._too_long or len(self._begun) + len(part) > LONGEST_LINE:
            self._too_long = True
            self._begun.clear()
        else:
            self._begun += part

    def _finish(self) -> list[RemoteLine]:
        line = None if self._too_long else parse_line(bytes(self._begun.removesuffix(b"\r")), self._token)
        self._begun.clear()
        self._too_long = False
        if line is None:
            self.foreign += 1
            return []
        return [line]


PROGRAM: Final = Path(__file__).with_name("machine.sh")

ANSWER_TIMEOUT_S: Final = 10.0
_HELLO_TIMEOUT_S: Final = CONNECT_TIMEOUT_S + ANSWER_TIMEOUT_S
_CLOSE_TIMEOUT_S: Final = 1.0
_PART_BYTES: Final = 65536
_MOST_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of one answer, with all foreign output around it."""
_MOST_LINES: Final = 5000
_ERROR_BYTES: Final = 16384
_MOST_LAST_PARTS: Final = 16

Launch = Callable[[SshDestination], subprocess.Popen[bytes]]
"""Starts the process that connects: standard input and both outputs are pipes."""


def launch_ssh(destination: SshDestination) -> subprocess.Popen[bytes]:
    """Start ssh as this user, with the user's agent and PATH, which its configuration may need.

    Raises:
        ProgramError: it is not installed, or cannot be started.
    """
    own: Mapping[str, str] = {
        name: os.environ[name] for name in ("SSH_AUTH_SOCK", "XDG_RUNTIME_DIR") if name in os.environ
    }
    return spawn(
        destination.argv(),
        account=current_account(),
        death_signal=signal.SIGTERM,
        env={**own, "PATH": os.environ.get("PATH", SEARCH_PATH)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


class RemoteConnection:
    """A connection, opened once and closed once; only `interrupt` may be called by other threads.

    Attributes:
        system: ``uname -s`` of the machine; empty before `open`.
    """

    def __init__(self, destination: SshDestination, launch: Launch = launch_ssh) -> None:
        self.system = ""
        self._destination = destination
        self._launch = launch
        self._process: subprocess.Popen[bytes] | None = None
        self._token = secrets.token_hex(8)
        self._reader = LineReader(self._token)
        self._errors = BoundedOutput(_ERROR_BYTES)
        self._arrived: list[RemoteLine] = []
        self._interrupted = threading.Event()

    def open(self) -> None:
        """Connect, send the program and wait for its first line.

        Raises:
            ProbeUnavailable: it failed, with the reason.
        """
        self._refuse_interrupted()
        try:
            self._process = process = self._launch(self._destination)
        except ProgramError as err:
            raise ProbeUnavailable(err.message) from err
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
        try:
            self._refuse_interrupted()  # by one who came before there was a process to end
            self._send(f"token={self._token}\n".encode() + PROGRAM.read_bytes())
            hello = self._read_until(lambda line: line.kind is LineKind.HELLO, _HELLO_TIMEOUT_S)[-1]
        except BaseException:
            self.close()
            raise
        if hello.fields[0] != FORMAT:
            self.close()
            sentence = tr("{host} answers in format {found}; this pgFooting knows {known}.")
            found = hello.fields[0][:20]
            raise ProbeUnavailable(sentence.format(host=self._destination.host, found=found, known=FORMAT))
        self.system = hello.fields[1][:40]

    def _refuse_interrupted(self) -> None:
        if self._interrupted.is_set():
            raise ProbeUnavailable(tr("Cancelled."))

    def ask(
        self, request: str, until: LineKind, argument: str, timeout_s: float = ANSWER_TIMEOUT_S
    ) -> list[RemoteLine]:
        """Send a request and return the answer.

        Args:
            request: a command word of the program.
            until: kind of the line that ends the answer.
            argument: of the request; the final line has it as its first field, or the request's word if
                `until` is `LineKind.END`. Lines of earlier requests are discarded.
            timeout_s: for everything.

        Raises:
            ProbeUnavailable: there is no answer, or no connection any more.
            ValueError: the argument cannot be sent.
        """
        if not argument.isprintable():
            raise ValueError(argument)
        expected = request if until is LineKind.END else argument
        self._arrived.clear()
        self._send(f"{request} {argument}\n".encode())
        return self._read_until(lambda line: line.kind is until and line.fields[0] == expected, timeout_s)

    # --- pipes

    def _running(self) -> tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None or process.stdin.closed:
            raise ProbeUnavailable(
                tr("There is no connection to {host}.").format(host=self._destination.host)
            )
        return process, process.stdin, process.stdout

    def _send(self, content: bytes) -> None:
        _, stdin, _ = self._running()
        deadline_s = time.monotonic() + _HELLO_TIMEOUT_S
        left = memoryview(content)
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            while left:
                if not selector.select(max(0.0, deadline_s - time.monotonic())):
                    raise ProbeUnavailable(self._explain_silence())
                try:
                    left = left[os.write(stdin.fileno(), left) :]
                except BlockingIOError:
                    continue
                except OSError as err:
                    raise ProbeUnavailable(self._explain_end()) from err

    def _read_until(self, is_last: Callable[[RemoteLine], bool], timeout_s: float) -> list[RemoteLine]:
        """Return the lines up to and including the last one."""
        process, _, stdout = self._running()
        deadline_s = time.monotonic() + timeout_s
        found: list[RemoteLine] = []
        arrived_bytes = 0
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            if process.stderr is not None:
                selector.register(process.stderr, selectors.EVENT_READ)
            while True:
                while self._arrived:
                    line = self._arrived.pop(0)
                    found.append(line)
                    if is_last(line):
                        return found
                if arrived_bytes > _MOST_BYTES or len(found) > _MOST_LINES:
                    sentence = tr("{host} sent more data than any valid answer contains.")
                    raise ProbeUnavailable(sentence.format(host=self._destination.host))
                ready = selector.select(max(0.0, deadline_s - time.monotonic()))
                if not ready or time.monotonic() > deadline_s:
                    raise ProbeUnavailable(self._explain_silence())
                for key, _ in ready:
                    arrived_bytes += self._take(selector, key, stdout)

    def _take(self, selector: selectors.BaseSelector, key: selectors.SelectorKey, stdout: IO[bytes]) -> int:
        """Read available data of one pipe; return its size."""
        try:
            part = os.read(key.fd, _PART_BYTES)
        except BlockingIOError:
            return 0
        if key.fileobj is not stdout:
            self._errors.add(part)
            if not part:
                selector.unregister(key.fileobj)
            return len(part)
        if not part:
            raise ProbeUnavailable(self._explain_end())
        self._arrived += self._reader.feed(part)
        return len(part)

    # --- explanations

    def _explain_silence(self) -> str:
        if self._process is not None and self._process.poll() is not None:
            return self._explain_end()
        if not self.system:
            sentence = tr(
                "{host} accepts the connection, but no shell answers; its login shell may print text or "
                "wait for input."
            )
            return sentence.format(host=self._destination.host)
        return tr("{host} has stopped answering.").format(host=self._destination.host)

    def _explain_end(self) -> str:
        """Explain why ssh has ended, with its last output."""
        process = self._process
        status: int | None = None
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                status = process.wait(_CLOSE_TIMEOUT_S)
            if process.stderr is not None and not process.stderr.closed:
                with suppress(OSError):
                    for _ in range(_MOST_LAST_PARTS):
                        self._errors.add(os.read(process.stderr.fileno(), _PART_BYTES))
        return explain(self._destination.host, self._errors.text(), status)

    # --- end

    def interrupt(self) -> None:
        """End the connection from another thread: a waiting call raises soon."""
        self._interrupted.set()
        process = self._process
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()

    def close(self) -> None:
        """End the remote program and ssh; may be called again."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_CLOSE_TIMEOUT_S)
        end(process)
