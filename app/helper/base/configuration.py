"""What an administrator may allow in /etc/pgfooting/helper.conf; nothing of it comes from a caller.

The file is TOML with one key so far, ``accept_loop_devices = true``: test devices, which mark every run.
"""

from __future__ import annotations

import logging
import stat
import tomllib
from pathlib import Path

from app.helper.base.folders import CONFIGURATION
from app.storage.inspect.snapshot import Policy

_log = logging.getLogger(__name__)


def read_policy(path: Path = CONFIGURATION) -> Policy:
    """Return what the administrator allows: nothing where there is no file, or one not to be trusted."""
    try:
        found = path.lstat()
    except OSError:
        return Policy()
    if not stat.S_ISREG(found.st_mode) or found.st_uid != 0 or found.st_mode & 0o022:
        _log.error("%s is ignored: it is not root's alone", path)
        return Policy()
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as err:
        _log.error("%s is ignored: %r", path, str(err))
        return Policy()
    unknown = sorted(set(values) - {"accept_loop_devices"})
    if unknown or not isinstance(values.get("accept_loop_devices", False), bool):
        _log.error("%s is ignored: the only key is accept_loop_devices, true or false", path)
        return Policy()
    return Policy(accept_loop_devices=values.get("accept_loop_devices", False))
