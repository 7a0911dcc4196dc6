"""The arguments of `pgfooting report` and `export`."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.domain.text import tr

RUN_HELP = tr("id (or its beginning), path, or a folder of runs")


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--anonymous", action="store_true", help=tr("replace serials, host, user, folders and other names")
    )
    parser.add_argument("--force", action="store_true", help=tr("replace a file that is there already"))


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `report` takes."""
    parser.description = tr(
        "Writes a PDF: the answer on the first page, then what differs, charts, every configuration, the "
        "method, the environment and the exact commands. The same runs give the same file."
    )
    help_of_runs = f"{RUN_HELP}; {tr('the others are compared with the configuration of the first')}"
    parser.add_argument("runs", nargs="+", metavar="RUN", help=help_of_runs)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.pdf")
    parser.add_argument("--paper", choices=("a4", "letter"), default="a4", help=tr("size of its pages (a4)"))
    _add_common(parser)


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `export` takes."""
    parser.description = tr(
        "The ending of FILE chooses: .csv is one long table (run, name, t_s, phase, metric, instance, unit, "
        "value); .json is one object with format, version and everything that the run files hold (its keys "
        "stand in app/export/runs.py); .png and .svg are the charts of the runs over each other."
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help=RUN_HELP)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.{csv,json,png,svg}")
    _add_common(parser)
