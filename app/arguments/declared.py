"""Declare every command with its options and help.

A command is named by its module in `app.cli` and its function, which `app.cli.main` imports: heavy parts
(numpy, psycopg, rich) come with the commands that need them, and `--help` and `--version` answer at once.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from app import COMMAND, VERSION
from app.arguments.completion import SHELLS, commands_as_markdown
from app.arguments.parser import Parser, cut_s, percent, speed
from app.domain.text import CALLED, tr
from app.report.options import add_report_options

if TYPE_CHECKING:
    from app.manual.chapters import Chapter

RUN_HELP = tr("id (or its beginning), path, a folder of runs, or fields as in `list`: 'fs:xfs scale:250'")
_FIELDS = (
    "fs: raid: option: workload: transactions: scale: clients: pg: machine: kernel: date: tag: target: "
    "state: mark: campaign: configuration: name:"
)


def add_consents(run: Parser) -> None:
    """Add the consents of `run`: without an option the user is asked, or refused without a terminal."""
    run.add_argument(
        "--erase",
        action="append",
        default=[],
        metavar="SERIAL",
        help=tr("confirm that this spare disk of the campaign may be erased (default: ask); repeatable"),
    )
    run.add_argument(
        "--load",
        action="append",
        default=[],
        metavar="NAME",
        help=tr(
            "confirm that this existing server of the campaign may be loaded, by host and port such as "
            "db.example:5432 (default: ask); repeatable"
        ),
    )
    run.add_argument(
        "--trust",
        action="store_true",
        help=tr(
            "agree to a campaign file that may run programs (server settings not known to be harmless, "
            "\\shell, superuser scripts); default: ask, refuse without a terminal"
        ),
    )


def add_servers(run: Parser) -> None:
    """Add the existing servers of `run RECIPE`, for `app.campaign_file.recipes.adapt.named_servers`."""
    run.add_argument(
        "--server",
        action="append",
        default=[],
        metavar="CONNECTION",
        help=tr(
            "measure a recipe on this existing server (libpq connection string); repeat for several "
            "servers, and for an unchanged one as a reference (see pgfooting recipes RECIPE)"
        ),
    )
    run.add_argument(
        "--as",
        dest="names",
        action="append",
        default=[],
        metavar="NAME",
        help=tr("name of that server, such as its storage; in the order of --server"),
    )
    run.add_argument(
        "--ssh",
        action="append",
        default=[],
        metavar="HOST",
        help=tr("ssh name of that server's machine; once for all servers, or once for each"),
    )
    run.add_argument(
        "--room",
        default="",
        metavar="SIZE",
        help=tr("size limit of pgFooting's database there, such as 20GiB"),
    )


def _add_library(parser: Parser, words: str = "") -> None:
    words = words or tr("folder of the runs (default: the user's library)")
    parser.add_argument("--library", type=Path, metavar="DIR", help=words)


def _add_library_to_write(parser: Parser, words: str) -> None:
    """Add the library, and the former name of that option."""
    _add_library(parser, words)
    parser.add_argument("--output", dest="library", type=Path, metavar="DIR", help=argparse.SUPPRESS)


def _add_window_commands(commands: argparse._SubParsersAction[Parser]) -> None:
    opening = commands.add_parser("open", help=tr("open the window with these runs (the default command)"))
    opening.add_argument(
        "runs", nargs="*", type=Path, metavar="RUN", help=tr("run files, folders of them, or ids")
    )
    _add_library(opening)
    opening.set_defaults(command="commands.window:window_command")

    replay = commands.add_parser(
        "replay", help=tr("replay a run in the window as if it were live; two to six runs race each other")
    )
    replay.add_argument(
        "replay", nargs="+", metavar="RUN", help=tr("id (or its beginning) or path of a run file")
    )
    replay.add_argument(
        "--speed",
        type=speed,
        metavar="N",
        help=tr("recorded seconds per second (default: 1; a race lasts about a minute)"),
    )
    replay.add_argument("--talk", action="store_true", help=tr("full screen (always on for a race)"))
    _add_library(replay)
    replay.set_defaults(command="commands.window:window_command")


def _add_disks(commands: argparse._SubParsersAction[Parser]) -> None:
    disks = commands.add_parser("disks", help=tr("list every disk: whether it is spare, and if not, why"))
    disks.add_argument("--json", action="store_true", help=tr("print one JSON object"))
    disks.add_argument(
        "--release",
        nargs="?",
        const="",
        metavar="SERIAL",
        help=tr(
            "show and release what a crashed session left on this disk, after asking for the end of its "
            "serial number. Without SERIAL, release everything that needs no confirmation"
        ),
    )
    disks.add_argument(
        "--erase",
        action="append",
        default=[],
        metavar="SERIAL",
        help=tr("confirm the release of this disk, with --release (default: ask)"),
    )
    disks.add_argument(
        "--read",
        default="",
        metavar="SERIAL",
        help=tr("let root read every byte of this disk, to find non-zero data"),
    )
    disks.set_defaults(command="commands.disks:disks_command")


def _add_templates(commands: argparse._SubParsersAction[Parser]) -> None:
    templates = commands.add_parser("templates", help=tr("list the data sets kept for copying"))
    templates.description = tr(
        'Campaigns with data_set = "copied" load data once and copy it for every run. It is kept in the '
        "cache folder or in PGFOOTING_TEMPLATES, not on the disks under test."
    )
    templates.add_argument(
        "--remove", default="", metavar="ID", help=tr("remove this data set; “all” removes every one")
    )
    templates.add_argument("--json", action="store_true", help=tr("print one JSON object"))
    templates.set_defaults(command="commands.templates:templates_command")


def _add_run(commands: argparse._SubParsersAction[Parser]) -> None:
    run = commands.add_parser("run", help=tr("measure a campaign"))
    run.add_argument(
        "campaigns",
        nargs="+",
        metavar="CAMPAIGN.toml|RECIPE",
        help=tr(
            "a campaign file, or the name of a recipe (pgfooting recipes); several run one after another. "
            "With --resume also a campaign folder"
        ),
    )
    run.add_argument(
        "--quick",
        action="store_true",
        help=tr("measure the quick variant of a recipe: little data, runs of a few seconds"),
    )
    run.add_argument(
        "--disks",
        default="",
        metavar="SERIAL,SERIAL",
        help=tr("spare disks for a recipe, in the order of its members; they are erased"),
    )
    add_servers(run)
    _add_library_to_write(run, tr("library to create the campaign's folder in"))
    run.add_argument(
        "--progress", choices=("auto", "json", "none"), default="auto", help=tr("progress display")
    )
    run.add_argument(
        "--dry-run",
        action="store_true",
        help=tr("show the plan, its duration and the amount it would write, without starting anything"),
    )
    run.add_argument(
        "--when-done",
        metavar="COMMAND",
        default=None,
        help=tr(
            "run this command at the end, without a shell and only with your privileges (default: when_done "
            "of ~/.config/pgfooting/preferences.toml)"
        ),
    )
    run.add_argument(
        "--resume",
        action="store_true",
        help=tr("resume the newest unfinished campaign of this file, or the one in this folder"),
    )
    run.add_argument(
        "--wait",
        action="store_true",
        help=tr("wait for another campaign on this machine to end (default: refuse to start)"),
    )
    add_consents(run)
    run.set_defaults(command="commands.run:run_command")


def _add_unfinished(commands: argparse._SubParsersAction[Parser]) -> None:
    unfinished = commands.add_parser("unfinished", help=tr("list interrupted campaigns that can be resumed"))
    unfinished.add_argument("--json", action="store_true", help=tr("print a JSON array"))
    _add_library(unfinished)
    unfinished.set_defaults(command="commands.unfinished:unfinished_command")


def _add_recipes(commands: argparse._SubParsersAction[Parser]) -> None:
    recipes = commands.add_parser(
        "recipes", help=tr("list the campaigns that ship with pgFooting, by the question they answer")
    )
    recipes.add_argument(
        "recipe", nargs="?", default="", metavar="RECIPE", help=tr("recipe to describe (default: list all)")
    )
    recipes.add_argument("--json", action="store_true", help=tr("print a JSON array, or one object"))
    recipes.set_defaults(command="commands.recipes:recipes_command")


def _add_explanations(commands: argparse._SubParsersAction[Parser]) -> None:
    doctor = commands.add_parser("doctor", help=tr("show what works here, and why the rest does not"))
    doctor.add_argument("--json", action="store_true", help=tr("print one JSON object"))
    doctor.add_argument(
        "--options",
        nargs="?",
        const="all",
        metavar="FILESYSTEM",
        help=tr("list the options of a filesystem, or of all: effect, risk and availability here"),
    )
    doctor.set_defaults(command="doctor.doctor:doctor_command")

    manual = commands.add_parser("manual", help=tr("list the manual's chapters, or print one"))
    manual.add_argument("chapter", nargs="?", default="", metavar="CHAPTER", help=tr("chapter to print"))
    manual.set_defaults(command="doctor.manual:manual_command")


def build_parser() -> Parser:
    """Return the parser of all commands."""
    parser = Parser(
        prog=CALLED,
        description=tr("On which disks, filesystem and options does PostgreSQL run best on this hardware?")
        + " "
        + tr("Start with `{command} run quick`: a folder against memory, in two minutes.").format(
            command=CALLED
        ),
        epilog=tr(
            "Exit status: 0 done; 1 a run failed; 2 bad usage or bad campaign; 3 refused "
            "for safety or authorisation; 130 cancelled. With compare --worse-than: 10 "
            "worse, 11 inconclusive."
        )
        + " "
        + tr("PGFOOTING_LOG=debug, or =storage,execution:debug, logs to standard error."),
    )
    parser.add_argument("--version", action="version", version=f"{COMMAND} {VERSION}")
    parser.set_defaults(
        command="commands.window:window_command", library=None, replay=None, speed=None, talk=False, runs=[]
    )
    commands = parser.add_subparsers(title=tr("commands"), metavar="COMMAND")

    _add_run(commands)
    _add_recipes(commands)
    _add_unfinished(commands)

    listing = commands.add_parser(
        "list",
        help=tr("list the library's runs"),
        epilog=tr(
            "Words match anything known about a run. Fields are {fields}, and every key of a campaign file, "
            "option and setting, as in `list fs:xfs scale:250 recordsize:8KiB date:7d`."
        ).format(fields=_FIELDS)
        + " "
        + tr("After `--` a minus excludes runs: `list -- fs:xfs -state:failed`."),
    )
    listing.add_argument("words", nargs="*", metavar="WORD", help=tr("only runs that match these"))
    listing.add_argument("--json", action="store_true", help=tr("print a JSON array"))
    _add_library(listing)
    listing.set_defaults(command="commands.runs.show:list_command")

    show = commands.add_parser("show", help=tr("show one run: figures, phases, commands, facts"))
    show.add_argument("run", metavar="RUN", help=tr("id (or its beginning) or path of a run file"))
    show.add_argument("--json", action="store_true", help=tr("print one JSON object"))
    _add_library(show)
    show.set_defaults(command="commands.runs.show:show_command")

    compare = commands.add_parser("compare", help=tr("compare runs: verdicts, costs, differences"))
    compare.add_argument("runs", nargs="+", metavar="RUN", help=RUN_HELP)
    written = compare.add_mutually_exclusive_group()
    written.add_argument("--json", action="store_true", help=tr("print one JSON object"))
    compare.add_argument(
        "--baseline",
        default="",
        metavar="NAME",
        help=tr("baseline configuration (default: the campaign's first, or that of the first file)"),
    )
    compare.add_argument(
        "--across",
        default="",
        metavar="CONDITION",
        help=tr(
            "compare the levels of this condition, all else equal (default: the configurations of each "
            "condition). One of scale, clients, rate, caches, protocol, phases, duration, data or machine"
        ),
    )
    for option, direction in (("--rows", tr("as rows")), ("--columns", tr("as columns"))):
        compare.add_argument(
            option,
            default="",
            metavar="NAME",
            help=tr("the property shown {direction} in the tables, such as RAID").format(direction=direction),
        )
    compare.add_argument(
        "--effect",
        type=percent,
        default=2.0,
        metavar="PERCENT",
        help=tr("smallest difference of interest, in percent (default: 2)"),
    )
    compare.add_argument(
        "--cut",
        type=cut_s,
        default=0.0,
        metavar="SECONDS",
        help=tr("seconds to exclude at the start of every run (default: 0)"),
    )
    written.add_argument(
        "--again",
        type=Path,
        default=None,
        metavar="FILE",
        help=tr(
            "write a campaign file that repeats the runs at 70 percent of the slowest one's TPS, for "
            "comparable latencies"
        ),
    )
    compare.add_argument(
        "--worse-than",
        type=percent,
        default=None,
        metavar="PERCENT",
        help=tr(
            "gate: compare two folders, each with the runs of three or more campaigns. Exit status 0 means "
            "not worse by more than this, 10 worse, 11 inconclusive"
        ),
    )
    compare.add_argument("--details", action="store_true", help=tr("show all verdicts and all runs"))
    _add_library(compare)
    compare.set_defaults(command="commands.runs.compare:compare_command")

    report = commands.add_parser("report", help=tr("write a PDF that shows which configuration wins and why"))
    add_report_arguments(report)
    _add_library(report)
    report.set_defaults(command="commands.runs.report:report_command")

    export = commands.add_parser("export", help=tr("write runs as CSV or JSON, or draw them as PNG or SVG"))
    add_export_arguments(export)
    _add_library(export)
    export.set_defaults(command="commands.runs.report:export_command")

    add_import_parser(commands).set_defaults(command="commands.import_results:import_command")
    _add_window_commands(commands)

    _add_disks(commands)
    _add_templates(commands)

    _add_explanations(commands)
    _add_help(commands, parser)
    return parser


def _add_help(commands: argparse._SubParsersAction[Parser], parser: Parser) -> None:
    """Add the commands about other commands."""
    completing = commands.add_parser("completion", help=tr("print the completion script for a shell"))
    completing.add_argument("shell", choices=tuple(SHELLS), metavar="SHELL", help=tr("bash, zsh or fish"))
    completing.set_defaults(command=lambda given: _completion(parser, given))

    helping = commands.add_parser("help", help=tr("show the help of a command"))
    helping.add_argument("topic", nargs="?", metavar="COMMAND", help=tr("command to explain (default: all)"))
    helping.set_defaults(command=lambda given: _help(parser, given))


def _completion(parser: Parser, arguments: argparse.Namespace) -> int:
    """Print a shell's completion, with the parser's commands and options."""
    sys.stdout.write("\n".join(SHELLS[arguments.shell](parser)) + "\n")
    return 0


def _help(parser: Parser, arguments: argparse.Namespace) -> int:
    """Print the help of a command, or of all.

    Raises:
        UsageError: there is no such command.
    """
    if arguments.topic is None:
        parser.print_help()
    else:
        parser.parse_args([arguments.topic, "--help"])
    return 0


# --- Arguments of `pgfooting import`.


def add_import_parser(commands: argparse._SubParsersAction[Parser]) -> Parser:
    """Add the command and return its parser."""
    parser = commands.add_parser("import", help=tr("import results: pgbench output, folders, CSV"))
    parser.description = tr(
        "Creates run files from pgbench output and logs, benchmark folders, and per-second tables (format: "
        "resources/import/example.csv). Missing values are reported, never invented. The same files are "
        "not imported twice."
    )
    paths = tr("folder, log, output, table, or archive (tar, gz, bz2)")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help=paths)
    _add_library_to_write(parser, tr("library to import the runs into"))
    parser.add_argument("--json", action="store_true", help=tr("print one JSON object"))
    return parser


# --- Arguments of `pgfooting report` and `export`.


def _add_common(parser: Parser) -> None:
    parser.add_argument(
        "--anonymous", action="store_true", help=tr("anonymise serials, host, user, folders and other names")
    )
    parser.add_argument("--force", action="store_true", help=tr("overwrite an existing file"))


def add_report_arguments(parser: Parser) -> None:
    """Add the arguments of `report`."""
    parser.description = tr(
        "Writes a PDF with the answer on the first page; all facts and exact commands are attached. The same "
        "runs and options give the same file."
    )
    parser.epilog = tr(
        ".html writes one web page without scripts or external content. .txt, or - for the terminal, "
        "writes the winning setup as commands, fstab lines and settings, with measured effects."
    )
    others = tr("the first run's configuration is the baseline")
    parser.add_argument("runs", nargs="+", metavar="RUN", help=f"{RUN_HELP}; {others}")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.{pdf,html,txt}")
    parser.add_argument(
        "--paper",
        choices=("a4", "letter"),
        help=tr("paper size (default: from the preferences, or by country)"),
    )
    add_report_options(parser)
    _add_common(parser)


def add_export_arguments(parser: Parser) -> None:
    """Add the arguments of `export`."""
    parser.description = tr(
        "The ending of FILE chooses the format. .csv is one long table (run, name, t_s, phase, metric, "
        "instance, unit, value). .png and .svg show all runs in the same charts."
    )
    parser.epilog = tr(
        ".json is one object with format, version and all data of the run files (keys: app/export/runs.py)."
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help=RUN_HELP)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.{csv,json,png,svg}")
    _add_common(parser)


def filled_text(chapter: Chapter) -> str:
    """Return a chapter of the manual as Markdown, with its tables and the commands."""
    from app.manual.chapters import chapter_text  # noqa: PLC0415 - it imports numpy

    return chapter_text(chapter, lambda: commands_as_markdown(build_parser()))
