"""The command `pgfooting`: arguments in, an exit status out; errors become sentences on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from app.cli.arguments.declared import Command, build_parser
from app.cli.arguments.implied import with_command
from app.cli.terminal import log
from app.cli.terminal.error_boundary import run_guarded
from app.postgres.libpq_environment import forget_libpq_environment


def _execute(argv: Sequence[str] | None) -> int:
    log.configure_logging(os.environ)
    parser = build_parser()
    given = list(sys.argv[1:] if argv is None else argv)
    arguments = parser.parse_args(with_command(given, parser.commands))
    forget_libpq_environment(os.environ)
    command: Command = arguments.command
    return command(arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; never lets a traceback out."""
    return run_guarded(lambda: _execute(argv))
