"""Drop files from the kernel's page cache: without root, as any user who may read them.

posix_fadvise(2), POSIX_FADV_DONTNEED: "pages that have not yet been written out will be unaffected", so dirty
pages are written first. It has no effect on ZFS, which has its own cache.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from typing import Final

from app.domain.errors import ServerError
from app.domain.text import tr
from app.hosts.folders.run_folders import RunFolders
from app.process.starter import Recorder, run_command

SYNC_TIMEOUT_S: Final = 600.0


def empty_page_cache(of: RunFolders, record: Recorder, watch: Callable[[], None]) -> None:
    """Write the dirty pages of a run's filesystems, then drop the files of its data from the page cache.

    Args:
        of: of a server that does not run.
        record: called with the command.
        watch: called at every file.

    Raises:
        ServerError: dirty pages cannot be written, or a file cannot be reached.
    """
    folders = of.contents
    argv = ("sync", "--file-system", *folders)
    outcome = run_command(argv, account=of.private.account, timeout_s=SYNC_TIMEOUT_S, record=record)
    if not outcome.succeeded:
        sentence = tr("What is dirty could not be written: {reason}")
        raise ServerError(sentence.format(reason=outcome.describe()))
    try:
        for folder in folders:
            for file in _files_below(folder):
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                watch()
    except OSError as err:
        sentence = tr("The files in {path} could not be reached: {reason}")
        raise ServerError(sentence.format(path=of.data_directory, reason=err.strerror)) from err


def _files_below(folder: str) -> Iterator[int]:
    """Yield a descriptor of each regular file; closed when the next one is requested.

    SECURITY: the runner may have other rights than the owner of these files: no link is followed, and nothing
    but the kernel's memory changes.
    """
    for _, _, names, parent in os.fwalk(folder, onerror=_refuse):
        for name in names:
            if not stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                continue
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
            try:
                yield file
            finally:
                os.close(file)


def _refuse(error: OSError) -> None:
    raise error
