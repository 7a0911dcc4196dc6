"""`pgfooting export`: runs as CSV or JSON, written here, or as a picture, which is painted by Qt."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.cli.commands.runs.exec_painter import become_painter
from app.cli.commands.runs.named_runs import named_paths
from app.cli.terminal.plain_text import tell_left_out
from app.domain.errors import ExitStatus
from app.export.runs import FORMATS, export_runs, format_of
from app.export.unreadable_files import with_readable
from app.runfile.output_file import check_output

PICTURES: Final = (".png", ".svg")


def export_command(arguments: argparse.Namespace) -> int:
    """Write runs in the format that the output's ending says; one that cannot be read is told and left out.

    Raises:
        UsageError: an unknown ending, no such run or folder, or no Qt for a picture.
        RefusedError: the file is there already.
    """
    output: Path = arguments.output
    ending = format_of(output, (*FORMATS, *PICTURES))
    check_output(output, replace=arguments.force)
    paths = named_paths(arguments)
    if ending in PICTURES:
        become_painter(paths, arguments)
    left_out: list[str] = []

    def write(readable: Sequence[Path]) -> None:
        export_runs(readable, output, anonymous=arguments.anonymous, replace=arguments.force)

    with_readable(paths, write, left_out.append)
    for sentence in left_out:
        tell_left_out(sentence)
    return ExitStatus.FAILED if left_out else ExitStatus.DONE
