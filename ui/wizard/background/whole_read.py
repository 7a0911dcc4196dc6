"""Read every byte of one disk, with a process of the command line that may take hours.

A process instead of a thread, because the window's garbage collection pauses while one of its threads works
(`ui.background`), and root stops reading when the asking process leaves the bus, whatever happens to the
window.
"""

from __future__ import annotations

import os
import sys
from typing import Final

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal

from app import TOP
from app.domain.disk_answers import Disk
from app.domain.errors import ExitStatus
from app.domain.text import tr

_END_MS: Final = 3000
_ANSWERED: Final = frozenset({int(ExitStatus.DONE), int(ExitStatus.REFUSED)})


class WholeRead(QObject):
    """At most one reading.

    Signals:
        progressed: key of the disk being read, and its progress as text; both empty at the end.
        ended: key of a disk that root has read completely.
        failed: it was not read; carries the sentence.
    """

    progressed = Signal(str, str)
    ended = Signal(str)
    failed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._key = ""
        self._errors: list[str] = []
        self._process: QProcess | None = None

    def start(self, disk: Disk) -> None:
        """Start reading a disk; no effect during another reading."""
        if self._process is not None:
            return
        self._key, self._errors = disk.identity.key(), []
        process = self._process = QProcess(self)
        environment = QProcessEnvironment.systemEnvironment()
        top = str(TOP)
        others = [part for part in environment.value("PYTHONPATH").split(os.pathsep) if part and part != top]
        environment.insert("PYTHONPATH", os.pathsep.join([top, *others]))
        process.setProcessEnvironment(environment)
        process.readyReadStandardError.connect(self._hear)
        process.finished.connect(self._end)
        process.errorOccurred.connect(self._fail)
        process.start(sys.executable, ["-P", "-m", "app", "disks", f"--read={self._key}", "--json"])
        self.progressed.emit(self._key, tr("root is asked"))

    def stop(self) -> None:
        """Stop reading; the result is lost."""
        process, self._process = self._process, None
        if process is None:
            return
        process.blockSignals(True)  # noqa: FBT003 - Qt's signature
        process.terminate()
        if not process.waitForFinished(_END_MS):
            process.kill()
            process.waitForFinished(_END_MS)
        process.deleteLater()
        self.progressed.emit("", "")

    def _hear(self) -> None:
        if self._process is not None:
            text = bytes(self._process.readAllStandardError().data()).decode(errors="replace")
            self._errors += text.splitlines()
            if self._errors:
                self.progressed.emit(self._key, self._errors[-1])

    def _end(self, status: int, how: QProcess.ExitStatus) -> None:
        self._hear()
        process, self._process = self._process, None
        if process is None:
            return
        process.deleteLater()
        self.progressed.emit("", "")
        if how is QProcess.ExitStatus.NormalExit and status in _ANSWERED:
            self.ended.emit(self._key)
        else:
            self.failed.emit(" ".join(line.strip() for line in self._errors[-2:]) or tr("The reading ended."))

    def _fail(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart and self._process is not None:
            self._process = None
            self.progressed.emit("", "")
            self.failed.emit(tr("The reading could not be started."))
