"""`python -m ui.report`: the process behind `pgfooting report` and `export` of pictures; needs no display."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from app import COMMAND
from app.domain.errors import ExitStatus
from app.process.qt_libraries import report_error, soname_in
from app.report.options import add_report_options, read_report_options
from app.terminal.error_boundary import run_guarded
from app.terminal.log import configure_logging
from app.terminal.plain_text import print_left_out


def main(argv: Sequence[str]) -> int:
    """Write one file and return the exit status.

    Args:
        argv: from `app.cli.commands.runs.report`, which has checked everything.
    """
    return run_guarded(lambda: _save(argv))


def _save(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog=COMMAND)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--paper", default="a4")
    add_report_options(parser)
    parser.add_argument("--anonymous", action="store_true")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("runs", nargs="+", type=Path)
    given = parser.parse_args(list(argv))
    configure_logging(os.environ)
    try:
        from PySide6.QtGui import QGuiApplication  # noqa: PLC0415 - what the system lacks is told, not raised

        from ui.report.save import SaveRequest, save  # noqa: PLC0415
    except ImportError as error:
        soname = soname_in(str(error))
        if not soname:
            raise
        raise report_error(soname) from error
    os.environ["QT_QPA_PLATFORM"] = "offscreen"  # nothing is shown, so no display is needed
    app = QGuiApplication.instance() or QGuiApplication([COMMAND])
    request = SaveRequest(
        tuple(given.runs), given.output, given.paper, read_report_options(given), given.force
    )
    left_out: list[str] = []
    save(request, left_out=left_out.append)
    for sentence in left_out:
        print_left_out(sentence)
    del app
    return ExitStatus.FAILED if left_out else ExitStatus.DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
