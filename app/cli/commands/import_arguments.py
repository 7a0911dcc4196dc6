"""The command line of `pgfooting import`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeVar

from app.domain.text import tr

Parser = TypeVar("Parser", bound=argparse.ArgumentParser)


def add_import_parser(commands: argparse._SubParsersAction[Parser]) -> Parser:
    """Return the parser of the command, added to the others."""
    parser = commands.add_parser("import", help=tr("import results of others: pgbench's own, folders, CSV"))
    parser.description = tr(
        "Makes run files of what pgbench printed and logged by hand, of folders of benchmarks, and of tables"
        " of seconds (resources/import/example.csv shows their format). What is missing is said, nothing is"
        " invented; the same files are not imported twice."
    )
    paths = tr("folder, log, output, table, or archive (tar, gz, bz2)")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help=paths)
    parser.add_argument("--output", type=Path, metavar="DIR", help=tr("library that gets the runs"))
    parser.add_argument("--json", action="store_true", help=tr("one object"))
    return parser
