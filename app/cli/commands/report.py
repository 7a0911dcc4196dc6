"""`pgfooting report`: checks what it is asked for, then becomes the program that paints the PDF."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn

from app.cli.commands.exec_painter import become_painter
from app.cli.commands.export import named_paths
from app.domain.errors import UsageError
from app.domain.text import tr
from app.runfile.output_file import check_output


def report_command(arguments: argparse.Namespace) -> NoReturn:
    """Write a report of runs.

    Raises:
        UsageError: the output is no PDF, there is no such run or folder, or Qt is not installed.
        RefusedError: the file is there already.
    """
    output: Path = arguments.output
    if output.suffix.lower() != ".pdf":
        message = tr("A report is a PDF: {path} does not end with .pdf.")
        hint = tr("For pictures and tables there is `pgfooting export`.")
        raise UsageError(message.format(path=output), hint=hint)
    check_output(output, replace=arguments.force)
    become_painter(named_paths(arguments), arguments)
