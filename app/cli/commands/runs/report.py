"""`pgfooting report`: the winner as a text, written here, or a PDF by the program that this becomes."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Final

from app.cli.commands.runs.exec_painter import become_painter
from app.cli.commands.runs.named_runs import named_paths
from app.cli.terminal.report_wishes import wishes_of
from app.domain.errors import UsageError
from app.domain.text import tr
from app.runfile.output_file import check_output

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
        # Loaded only here: the painter is a process of its own and loads for itself what runs are read with.
        from app.cli.commands.runs.report_text import write_report_text  # noqa: PLC0415

        return write_report_text(arguments, None if output == _STDOUT else output, anonymous=wishes.anonymous)
    if output.suffix.lower() not in PAINTED:
        message = tr("A report is a PDF or a web page: {path} does not end with .pdf or .html.")
        if os.path.isdir(output):  # noqa: PTH112 - Path.is_dir raises where a folder may not be entered
            message = tr("{path} is a folder; name a file in it that ends with .pdf, .html or .txt.")
        hint = tr("A text (.txt) tells what won; for pictures and tables there is `pgfooting export`.")
        raise UsageError(message.format(path=output), hint=hint)
    check_output(output, replace=arguments.force)
    return become_painter(named_paths(arguments), arguments)
