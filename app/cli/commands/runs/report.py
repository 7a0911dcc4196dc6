"""`pgfooting report` and `export`: texts, CSV and JSON are written here, PDF and pictures by the painter.

The painter is a program of its own that needs Qt but no display. It runs in this process, which has imported
most of what it needs, but only when something is painted: all other commands work without Qt.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.cli.commands.runs.show import named_paths
from app.domain.errors import ExitStatus, UsageError
from app.domain.text import tr
from app.export.runs import FORMATS, export_runs, format_of, with_readable
from app.preferences import preferred_paper, read_preferences
from app.process.qt_libraries import check_report_packages
from app.report.options import read_report_options, report_argv
from app.runfile.output_file import check_output, write_output
from app.terminal.plain_text import print_left_out


def painter_argv(runs: Sequence[Path], arguments: argparse.Namespace) -> list[str]:
    """Return the argument list of the painter."""
    paper = getattr(arguments, "paper", None) or preferred_paper(read_preferences()[0], os.environ)
    options = ["--output", str(arguments.output), "--paper", paper]
    options += report_argv(read_report_options(arguments)) if hasattr(arguments, "sections") else []
    options += ["--anonymous"] if arguments.anonymous else []
    options += ["--force"] if arguments.force else []
    return [*options, "--", *map(str, runs)]


def paint(runs: Sequence[Path], arguments: argparse.Namespace) -> int:
    """Run the painter and return its exit status.

    Args:
        runs: run files.
        arguments: with output, anonymous, force and, for a report, paper and wishes.

    Raises:
        UsageError: its libraries are not installed.
    """
    check_report_packages()
    importlib.import_module("app.report.report")  # before Qt, which reads the source of each later module
    status: int = importlib.import_module("ui.report.__main__").main(painter_argv(runs, arguments))
    return status


TEXT: Final = ".txt"
PAINTED: Final = (".pdf", ".html")
_STDOUT: Final = Path("-")


def report_command(arguments: argparse.Namespace) -> int:
    """Write a report of runs, or the winning configuration as a text.

    Raises:
        UsageError: the output is not .pdf, .html or .txt, there is no such section, run or folder, or Qt is
            not installed.
        RefusedError: the file exists.
    """
    output: Path = arguments.output
    options = read_report_options(arguments)
    if output == _STDOUT or output.suffix.lower() == TEXT:
        return write_report_text(
            arguments, None if output == _STDOUT else output, anonymous=options.anonymous
        )
    if output.suffix.lower() not in PAINTED:
        message = tr("The extension of {path} must be one of: {known}.")
        if os.path.isdir(output):  # noqa: PTH112 - Path.is_dir raises where a folder may not be entered
            message = tr("{path} is a folder; name a file in it that ends with {known}.")
        hint = tr("A .txt file has the winning setup; use `pgfooting export` for pictures and tables.")
        raise UsageError(message.format(path=output, known=".pdf, .html, .txt"), hint=hint)
    check_output(output, replace=arguments.force)
    return paint(named_paths(arguments), arguments)


def write_report_text(arguments: argparse.Namespace, output: Path | None, *, anonymous: bool) -> int:
    """Write the winning configuration, or print it; unreadable runs are reported and skipped.

    Args:
        arguments: with runs, library and force.
        output: destination; None to print it.
        anonymous: whether to omit names of machine and user.

    Raises:
        UsageError: there is no such run or folder.
        RefusedError: the file exists.
    """
    # Only a text is composed here: the painter imports for itself what a PDF needs.
    from app.report.report import read_findings  # noqa: PLC0415
    from app.report.take_with_you import taken_text  # noqa: PLC0415

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
        print_left_out(sentence)
    return ExitStatus.FAILED if left_out else ExitStatus.DONE


PICTURES: Final = (".png", ".svg")


def export_command(arguments: argparse.Namespace) -> int:
    """Write runs in the format of the output's ending; unreadable ones are reported and skipped.

    Raises:
        UsageError: an unknown ending, no such run or folder, or no Qt for a picture.
        RefusedError: the file exists.
    """
    output: Path = arguments.output
    ending = format_of(output, (*FORMATS, *PICTURES))
    check_output(output, replace=arguments.force)
    paths = named_paths(arguments)
    if ending in PICTURES:
        return paint(paths, arguments)
    left_out: list[str] = []

    def write(readable: Sequence[Path]) -> None:
        export_runs(readable, output, anonymous=arguments.anonymous, replace=arguments.force)

    with_readable(paths, write, left_out.append)
    for sentence in left_out:
        print_left_out(sentence)
    return ExitStatus.FAILED if left_out else ExitStatus.DONE
