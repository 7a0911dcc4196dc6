"""The helper as it is, in a namespace of processes: ``python -m tests.disks.helper_here [--recover]``.

The rules refuse every disk where not all processes can be seen, and rightly. In the namespace of the tests
the others are no business of theirs: the helper is given a view of /proc that says that these are all.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from app.helper.__main__ import main
from app.storage.inspect_processes import _FIRST_PID_NAMESPACE
from app.storage.places import Places


def view_of_proc(folder: Path) -> Path:
    """Make a view of /proc in which this is the first namespace of processes."""
    view = folder / "proc"
    view.mkdir()
    for entry in Path("/proc").iterdir():
        if entry.name != "self":
            (view / entry.name).symlink_to(entry)
    own = view / "self"
    (own / "ns").mkdir(parents=True)
    (own / "ns" / "pid").symlink_to(_FIRST_PID_NAMESPACE)
    (own / "mountinfo").symlink_to("/proc/self/mountinfo")
    return view


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        sys.exit(main(sys.argv[1:], Places(proc=view_of_proc(Path(name)), as_root=True)))
