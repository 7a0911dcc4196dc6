"""`pgfooting report`: the winner as a text, written here, or a PDF by the program that this becomes."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from app.cli.commands.exec_painter import become_painter
from app.cli.commands.export import named_paths
from app.cli.terminal.plain_text import tell_left_out
from app.cli.terminal.report_wishes import wishes_of
from app.domain.errors import ExitStatus, UsageError
from app.domain.text import tr
from app.export.unreadable_files import with_readable
from app.report.report import read_findings
from app.report.take_with_you import taken_text
from app.runfile.output_file import check_output, write_output

TEXT: Final = ".txt"
PAINTED: Final = (".pdf", ".html")
_STDOUT: Final = Path("-")


def report_command(arguments: argparse.Namespace) -> int:
    """Write a report of runs, or what won as a text.

    Raises:
        UsageError: the output is no PDF, there is no such section, run or folder, or Qt is not installed.
        RefusedError: the file is there already.
    """
    output: Path = arguments.output
    wishes = wishes_of(arguments)
    if output == _STDOUT or output.suffix.lower() == TEXT:
        return _write_text(arguments, output, anonymous=wishes.anonymous)
    if output.suffix.lower() not in PAINTED:
        message = tr("A report is a PDF or a web page: {path} does not end with .pdf or .html.")
        if os.path.isdir(output):  # noqa: PTH112 - Path.is_dir raises where a folder may not be entered
            message = tr("{path} is a folder; name a file in it that ends with .pdf, .html or .txt.")
        hint = tr("A text (.txt) tells what won; for pictures and tables there is `pgfooting export`.")
        raise UsageError(message.format(path=output), hint=hint)
    check_output(output, replace=arguments.force)
    return become_painter(named_paths(arguments), arguments)


def _write_text(arguments: argparse.Namespace, output: Path, *, anonymous: bool) -> int:
    """Write the configuration that won, or print it; a run that cannot be read is told and left out."""
    if output != _STDOUT:
        check_output(output, replace=arguments.force)
    left_out: list[str] = []
    text = with_readable(
        named_paths(arguments),
        lambda paths: taken_text(read_findings(paths, anonymous=anonymous)),
        left_out.append,
    )
    if output == _STDOUT:
        sys.stdout.write(text)
    else:
        write_output(output, lambda stream: stream.write(text.encode()))
    for sentence in left_out:
        tell_left_out(sentence)
    return ExitStatus.FAILED if left_out else ExitStatus.DONE
