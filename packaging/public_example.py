#!/usr/bin/env python3
"""Makes the example of four filesystems in resources/examples from a folder with the published files.

    git clone https://github.com/tvondra/pg-fs-benchmark FOLDER
    ENVIRONMENT/bin/python packaging/public_example.py FOLDER

Imports the folder as `pgfooting import` does, takes the read-write runs of ext4, xfs, btrfs and ZFS on a
stripe of six disks at scale 1000, and keeps figures alone: TPS and the 99th percentile of latency of every
second, checkpoints, settings, and the figures of the whole run. No file or log of the author is copied.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP))

from app.importers.importing import import_paths  # noqa: E402 - found through the line before
from app.library.entries import EXAMPLE_LEFT_OUT, list_runs  # noqa: E402

EXAMPLE = TOP / "resources" / "examples" / "vondra-2022"
LIMIT_BYTES = 700_000
ADDRESS = "https://github.com/tvondra/pg-fs-benchmark"
FILESYSTEMS = ("ext4", "xfs", "btrfs", "zfs")
CONFIGURATION = "{filesystem} stripe scale 1000 simple-update"
KEPT = ("pgbench.tps", "latency.p99")
NOTE = (
    f"Measured by Tomas Vondra in September 2022, published at {ADDRESS}; see also his “Postgres vs. File "
    "Systems”, EDB 2022. No licence given: these are figures computed from his files, not the files."
)


def import_runs(folder: Path, library: Path) -> dict[str, Path]:
    """Return the run file of each filesystem, imported into a library.

    Raises:
        SystemExit: one of them is not in the folder.
    """
    import_paths([folder], library, lambda _done, _total, _what: None)
    by_name = {entry.configuration: Path(entry.path) for entry in list_runs(library)}
    wanted = {each: CONFIGURATION.format(filesystem=each) for each in FILESYSTEMS}
    missing = [name for name in wanted.values() if name not in by_name]
    if missing:
        raise SystemExit(f"{folder} has no {', '.join(missing)}")
    return {each: by_name[name] for each, name in wanted.items()}


def replaced(value: object, change: Callable[[str], str]) -> object:
    """Return a JSON value with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [replaced(each, change) for each in value]
    if isinstance(value, dict):
        return {key: replaced(each, change) for key, each in value.items()}
    return value


def shrink(path: Path, folder: Path) -> None:
    """Keep of a finished run file what the example shows, and say whose figures they are.

    Args:
        path: of the run file, which is changed.
        folder: of the published files, which is called by its public address.
    """

    def public(text: str) -> str:
        return text.replace(str(folder), ADDRESS)

    connection = sqlite3.connect(path)
    marks = ", ".join("?" for _ in KEPT)
    connection.execute(
        f"DELETE FROM sample WHERE series NOT IN (SELECT id FROM series WHERE metric IN ({marks}))",
        KEPT,
    )
    connection.execute(f"DELETE FROM series WHERE metric NOT IN ({marks})", KEPT)
    connection.execute("DELETE FROM histogram")
    connection.execute("DELETE FROM output")
    connection.execute("DELETE FROM event WHERE kind NOT LIKE 'checkpoint-%'")
    connection.create_function("public", 1, lambda text: json.dumps(replaced(json.loads(text), public)))
    connection.execute("UPDATE run SET value = public(value)")
    connection.execute("UPDATE fact SET value = public(value)")
    connection.create_function("public_text", 1, public)
    connection.execute("UPDATE mark SET reason = public_text(reason)")
    told = connection.execute("SELECT value FROM run WHERE key = 'imported'").fetchone()
    if told is not None:
        imported = json.loads(told[0]) | {"files": []}
        connection.execute("UPDATE run SET value = ? WHERE key = 'imported'", (json.dumps(imported),))
    connection.execute(
        "INSERT OR REPLACE INTO run VALUES ('note', ?)", (json.dumps(NOTE, ensure_ascii=False),)
    )
    connection.execute("INSERT INTO unavailable (t_ms, source, reason) VALUES (0, ?, ?)", EXAMPLE_LEFT_OUT)
    connection.commit()
    connection.execute("PRAGMA page_size = 1024")
    connection.execute("VACUUM")
    connection.close()


def main() -> int:
    """Import, shrink and put in place."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="of the published files")
    folder = parser.parse_args().folder.resolve()
    with tempfile.TemporaryDirectory() as library:
        found = import_runs(folder, Path(library))
        for path in found.values():
            shrink(path, folder)
        size_bytes = sum(path.stat().st_size for path in found.values())
        if size_bytes > LIMIT_BYTES:
            print(f"{size_bytes} bytes are too many: at most {LIMIT_BYTES}", file=sys.stderr)
            return 1
        if EXAMPLE.exists():
            shutil.rmtree(EXAMPLE)
        EXAMPLE.mkdir(parents=True)
        for number, (filesystem, path) in enumerate(found.items(), 1):
            made = EXAMPLE / f"{number:02}-{filesystem}.footing"
            shutil.copyfile(path, made)
            made.chmod(0o644)
    print(f"{len(found)} runs, {size_bytes} bytes in {EXAMPLE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
