"""Entry point of the helper, started by systemd or the bus and never by hand; ``--recover`` at boot.

It ends even if one of its threads hangs: such a thread, like a child, is left to the kernel.
"""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import ExitStack
from typing import Final

from app.dbus.service import BusError, keep_small
from app.helper.base import audit
from app.helper.base.audit import RUN, make_private_folder, read_policy
from app.helper.service import Helper
from app.helper.storage.journal import Journal
from app.helper.storage.leftovers import Leftovers
from app.storage.inspect.records import parse_full_read, set_aside_broken
from app.storage.inspect.sources import SourceFolders
from app.storage.spare.release_ledger import parse_release
from app.storage.spare.spare import SpareDisks

BOOT_IN_ALL_S: Final = 60.0
"""Time limit of the whole recovery at boot, including programs and anything that hangs."""
_SWITCH_S: Final = 0.0005
"""How long a working thread may delay the main loop, which answers many calls, each time."""


def main(arguments: list[str], places: SourceFolders | None = None) -> int:
    """Serve, and recover leftovers at the same time; with ``--recover`` only recover, as at boot.

    Args:
        arguments: of the command line.
        places: sources about disks; others only in tests.
    """
    if os.geteuid() != 0 or arguments not in ([], ["--recover"]):
        sys.stderr.write("pgfooting-helper: a system service; it is started by the bus.\n")
        return 2
    os.umask(0o077)
    os.chdir("/")
    sys.setswitchinterval(_SWITCH_S)
    keep_small()
    audit.start_logging()
    disks = SpareDisks(read_policy(), places or SourceFolders.of_this_machine())
    leftovers, left = Leftovers(Journal(), disks), []
    try:
        with ExitStack() as held:
            _be_the_only_one(held)
            _set_aside_broken(disks.places)
            if arguments:
                left = leftovers.recover(limit_s=BOOT_IN_ALL_S)
            else:
                Helper(leftovers).run()
    except (BusError, OSError) as err:
        audit.note("%s", err)
        return 1
    return 1 if left else 0


def _set_aside_broken(places: SourceFolders) -> None:
    """Rename records that cannot be understood, to keep them: they count for nothing either way."""
    for folder, parse in ((places.released, parse_release), (places.read_whole, parse_full_read)):
        try:
            for path in set_aside_broken(folder, parse):
                audit.note("a record that cannot be understood is kept as %s", path)
        except OSError as err:
            audit.note("records that cannot be understood stay where they are: %s", err)


def _be_the_only_one(held: ExitStack) -> None:
    """Exclude every other helper: each would treat the other's storage as left over.

    Raises:
        OSError: another one is at work.
    """
    make_private_folder(RUN, 0o711)
    descriptor = os.open(RUN / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    held.callback(os.close, descriptor)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))  # without waiting for threads: one that hangs never ends
