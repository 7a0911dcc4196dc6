"""The servers that already run of `run RECIPE`: how they are reached, and what they are called."""

from __future__ import annotations

from app.cli.arguments.parser import Parser
from app.domain.text import tr


def add_servers(run: Parser) -> None:
    """Add the options; `app.campaign_file.recipes.on_servers.named_servers` reads what they hold."""
    run.add_argument(
        "--server",
        action="append",
        default=[],
        metavar="CONNECTION",
        help=tr(
            "measure a recipe on this server that already runs, a libpq connection string; with several, and "
            "with one that stays as it is as a reference, once for each (pgfooting recipes RECIPE tells more)"
        ),
    )
    run.add_argument(
        "--as",
        dest="names",
        action="append",
        default=[],
        metavar="NAME",
        help=tr("what that server is called, such as what it lies on; in the order of --server"),
    )
    run.add_argument(
        "--ssh",
        action="append",
        default=[],
        metavar="HOST",
        help=tr("by which name your own ssh reaches that server's machine; once for all, or once for each"),
    )
    run.add_argument(
        "--room",
        default="",
        metavar="SIZE",
        help=tr("what pgFooting's database may take there at most, such as 20GiB"),
    )
