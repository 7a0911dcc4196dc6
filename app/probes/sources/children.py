"""The children of a process, found cheaply once a second."""

from __future__ import annotations

from pathlib import Path

from app.probes.base.probe import RawFile


class Children:
    """Lists the children of one process through /proc/PID/task/PID/children.

    Only kernels with CONFIG_PROC_CHILDREN have that file (Debian, Ubuntu and Fedora do); elsewhere all
    of /proc is looked through, where only processes that were not seen before are read. Children of
    threads other than the first are not found: neither the postmaster nor kthreadd has such threads.
    """

    def __init__(self, pid: int, proc: str = "/proc") -> None:
        self._pid = pid
        self._proc = proc
        self._others: set[int] = set()
        self._known: set[int] = set()
        try:
            self._file: RawFile | None = RawFile(f"{proc}/{pid}/task/{pid}/children")
        except OSError:
            self._file = None

    def pids(self) -> set[int]:
        """Return the pids as of now; a child that ends just then may or may not be among them.

        Raises:
            OSError: the process itself is gone.
        """
        if self._file is not None:
            return {int(word) for word in self._file.read().split()}
        return self._scan()

    def _scan(self) -> set[int]:
        present = {int(path.name) for path in Path(self._proc).iterdir() if path.name.isdigit()}
        self._others &= present
        self._known &= present
        for pid in present - self._others - self._known:
            (self._known if self._parent(pid) == self._pid else self._others).add(pid)
        return set(self._known)

    def _parent(self, pid: int) -> int | None:
        try:
            file = RawFile(f"{self._proc}/{pid}/stat")
        except OSError:
            return None
        try:
            text = file.read()
            return int(text[text.rindex(b")") + 2 :].split(None, 2)[1])
        except (OSError, ValueError):
            return None
        finally:
            file.close()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._file is not None:
            self._file.close()
            self._file = None
