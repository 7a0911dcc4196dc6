"""`pgfooting report` as a text: what won, with its commands, printed or written."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from app.cli.commands.runs.named_runs import named_paths
from app.cli.terminal.plain_text import tell_left_out
from app.domain.errors import ExitStatus
from app.export.unreadable_files import with_readable
from app.report.report import read_findings
from app.report.take_with_you import taken_text
from app.runfile.output_file import check_output, write_output


def write_report_text(arguments: argparse.Namespace, output: Path | None, *, anonymous: bool) -> int:
    """Write the configuration that won, or print it; a run that cannot be read is told and left out.

    Args:
        arguments: with runs, library and force.
        output: where to; None: it is printed.
        anonymous: whether names of machine and user are left out.

    Raises:
        UsageError: there is no such run or folder.
        RefusedError: the file is there already.
    """
    if output is not None:
        check_output(output, replace=arguments.force)
    left_out: list[str] = []
    text = with_readable(
        named_paths(arguments),
        lambda paths: taken_text(read_findings(paths, anonymous=anonymous)),
        left_out.append,
    )
    if output is None:
        sys.stdout.write(text)
    else:
        write_output(output, lambda stream: stream.write(text.encode()))
    for sentence in left_out:
        tell_left_out(sentence)
    return ExitStatus.FAILED if left_out else ExitStatus.DONE
