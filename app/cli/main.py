"""The command `pgfooting`: arguments in, an exit status out; errors become sentences on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

from app.cli.arguments.declared import Command, build_parser
from app.cli.arguments.implied import with_command
from app.cli.terminal import log
from app.cli.terminal.error_boundary import run_guarded

OWN_VARIABLES: Final = "PGFOOTING_"
"""How the names of our own variables of the environment begin: PGFOOTING_LOG, PGFOOTING_TEMP."""


def _execute(argv: Sequence[str] | None) -> int:
    log.configure_logging(os.environ)
    parser = build_parser()
    given = list(sys.argv[1:] if argv is None else argv)
    arguments = parser.parse_args(with_command(given, parser.commands))
    if arguments.temp:
        # Not loaded where nobody asks for it: `--help` and `--version` answer at once.
        from app.cli.commands.temporary import is_temporary, run_temporarily  # noqa: PLC0415

        if not is_temporary():
            return run_temporarily(given)
    for name in [name for name in os.environ if name.startswith("PG") and not name.startswith(OWN_VARIABLES)]:
        del os.environ[name]  # PGHOST, PGOPTIONS ... would redirect or change our connections
    command: Command = arguments.command
    return command(arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; never lets a traceback out."""
    return run_guarded(lambda: _execute(argv))
