"""Reports and pictures of run files written to files, without dialogs: for command line and window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.domain.errors import UsageError, did_you_mean
from app.domain.text import tr
from app.export.unreadable_files import with_readable
from app.report.picture import read_picture
from app.report.report import read_report
from app.runfile.output_file import check_output, write_output
from ui.report.document import Progress, report_pdf
from ui.report.flow import PAPERS
from ui.report.picture import report_png, report_svg

ENDINGS: Final = (".pdf", ".png", ".svg")


@dataclass(frozen=True, slots=True)
class SaveRequest:
    """What is to be written.

    Attributes:
        runs: run files, at least one; the configuration of the first is the baseline.
        output: its ending chooses between report (.pdf) and picture (.png, .svg).
        paper: of a report, a key of `PAPERS`.
        anonymous: whether serials, host, user and folders are replaced.
        replace: whether a file that is there may be replaced.
    """

    runs: tuple[Path, ...]
    output: Path
    paper: str = "a4"
    anonymous: bool = False
    replace: bool = False


def save(
    request: SaveRequest, progress: Progress | None = None, left_out: Callable[[str], object] | None = None
) -> Path:
    """Write it and return the path. Works in any thread; needs a QGuiApplication.

    Args:
        request: what.
        progress: told after each page of a report; may stop it.
        left_out: gets a sentence for each run that cannot be read and is therefore not in it; None: then
            nothing is written.

    Raises:
        UsageError: an unknown ending or paper, or nothing can stand at that place.
        RefusedError: a file is there already; nothing was changed.
        RunFileError: a run file cannot be read, or none of them.
        NoFontError: this machine has no font.
        CancelledError: progress stopped it; nothing was written.
        FootingError: the file cannot be written; what was there before is untouched.
    """
    ending = request.output.suffix.lower()
    if ending not in ENDINGS:
        message = tr("“{suffix}” is no ending of a report or picture; known are {known}.")
        found = message.format(suffix=request.output.suffix or request.output.name, known=", ".join(ENDINGS))
        raise UsageError(found, hint=did_you_mean(ending, ENDINGS))
    check_output(request.output, replace=request.replace)
    if left_out is None:
        content = _content(request, ending, progress)
    else:
        content = with_readable(
            request.runs,
            lambda runs: _content(replace(request, runs=tuple(runs)), ending, progress),
            left_out,
        )
    write_output(request.output, lambda stream: stream.write(content))
    return request.output


def _content(request: SaveRequest, ending: str, progress: Progress | None) -> bytes:
    if ending == ".pdf":
        paper = PAPERS.get(request.paper)
        if paper is None:
            message = tr("“{paper}” is no known size of paper; known are {known}.")
            raise UsageError(message.format(paper=request.paper, known=", ".join(PAPERS)))
        return report_pdf(read_report(request.runs, anonymous=request.anonymous), paper, progress)
    picture = read_picture(request.runs, anonymous=request.anonymous)
    return report_png(picture) if ending == ".png" else report_svg(picture)
