#!/usr/bin/env python3
"""Records the example campaign that ships in resources/examples, on the machine at hand.

    packaging/run doctor                      # sets up the environment, once
    ENVIRONMENT/bin/python packaging/record_example.py [--seconds 60]

Runs a real campaign with pgFooting itself, takes out of the run files what belongs to this machine alone
(names, folders, serials, the kernel's command line), and puts them in place. They say what they were
measured on.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP))

from app.export.anonymize import Anonymizer  # noqa: E402 - found through the line before

EXAMPLE = TOP / "resources" / "examples" / "folder-against-memory"
LIMIT_BYTES = 2_000_000

CAMPAIGN = """\
name = "Example: a folder against memory"
repeats = 3

[postgresql]
preset = "defaults"
checksums = true
[postgresql.settings]
shared_buffers = "512MB"
checkpoint_timeout = "30s"

[workload]
script = "tpcb-like"
scale = 20
clients = 4
warmup = "5s"
duration = "{seconds}s"

[[configuration]]
name = "folder on a virtual disk"
[configuration.target.folder]

[[configuration]]
name = "memory"
[configuration.target.memory]
"""


def measure(seconds: int, library: Path) -> list[Path]:
    """Run the campaign and return its run files."""
    source = library / "example.toml"
    source.write_text(CAMPAIGN.format(seconds=seconds))
    argv = [sys.executable, "-m", "app", "run", str(source), "--output", str(library / "runs")]
    subprocess.run(argv, cwd=TOP, check=True)
    return sorted((library / "runs").glob("*/*.footing"))


def clean(path: Path) -> None:
    """Take what belongs to this machine alone out of a finished run file."""
    disguise = Anonymizer.of_this_machine()
    connection = sqlite3.connect(path)
    tables = {"run": "value", "fact": "value", "command": "argv", "event": "data"}
    for table, column in tables.items():
        for (text,) in connection.execute(f"SELECT {column} FROM {table}").fetchall():
            disguise.learn(json.loads(text))

    def neutral_json(text: str) -> str:
        value = json.loads(text)
        if isinstance(value, dict):
            value.pop("command_line", None)
            value.pop("load", None)
        return json.dumps(disguise.json(value), ensure_ascii=False)

    connection.create_function("neutral_json", 1, neutral_json)
    connection.create_function("neutral", 1, disguise.text)
    for table, column in tables.items():
        connection.execute(f"UPDATE {table} SET {column} = neutral_json({column})")
    connection.execute("DELETE FROM fact WHERE name = 'preflight'")
    connection.execute("UPDATE command SET stdout = neutral(stdout), stderr = neutral(stderr)")
    connection.execute("UPDATE output SET text = neutral(text)")
    connection.execute("UPDATE event SET message = neutral(message)")
    connection.commit()
    connection.execute("VACUUM")
    connection.close()


def main() -> int:
    """Record, clean and put in place."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=60, help="length of each measured phase")
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        files = measure(seconds, Path(folder))
        for path in files:
            clean(path)
        size_bytes = sum(path.stat().st_size for path in files)
        if size_bytes > LIMIT_BYTES:
            print(
                f"{size_bytes} bytes are too many: at most {LIMIT_BYTES}; nothing was replaced",
                file=sys.stderr,
            )
            return 1
        if EXAMPLE.exists():
            shutil.rmtree(EXAMPLE)
        EXAMPLE.mkdir(parents=True)
        for path in files:
            shutil.copyfile(path, EXAMPLE / path.name)
    print(f"{len(files)} runs, {size_bytes} bytes in {EXAMPLE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
