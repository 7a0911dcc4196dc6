"""Write pgFooting's files into a data directory; runs in a separate process as the server's account.

Standard library only: `app.process.starter.as_account` imports this before the account changes. Files are
written under a temporary name and renamed, so that a server never reads a partial one.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

OWN_FILE = "pgfooting.conf"
INCLUDE_LINE = f"include '{OWN_FILE}'"
_ALLOWED = frozenset({OWN_FILE, "pg_hba.conf", "pg_ident.conf"})


def _replace(path: Path, text: str) -> None:
    """Replace a file, with mode 0600."""
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    beside.rename(path)


def _include_own_file(configuration: Path) -> None:
    """Make postgresql.conf include `OWN_FILE` last: later lines win (manual 19.1.2)."""
    text = configuration.read_text(encoding="utf-8")
    if INCLUDE_LINE not in text.splitlines():
        _replace(configuration, f"{text.rstrip()}\n\n{INCLUDE_LINE}\n")


def write_files(folder: str, content: bytes) -> None:
    """Write the files named in a JSON object into a data directory.

    Raises:
        OSError: one cannot be written, or there is no postgresql.conf.
        ValueError: it names a file that is not pgFooting's, or is not JSON.
    """
    files = json.loads(content)
    if not set(files) <= _ALLOWED:
        raise ValueError(sorted(set(files) - _ALLOWED))
    for name, text in files.items():
        _replace(Path(folder, name), text)
    _include_own_file(Path(folder, "postgresql.conf"))
