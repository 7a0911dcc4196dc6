"""What a person agrees to on the command line of `run`, before anything is erased, loaded or executed."""

from __future__ import annotations

from app.cli.arguments.parser import Parser
from app.domain.text import tr


def add_consents(run: Parser) -> None:
    """Add the options: each is asked on a terminal where it is left out, and refused without one."""
    run.add_argument(
        "--erase",
        action="append",
        default=[],
        metavar="SERIAL",
        help=tr(
            "confirm that this spare disk of the campaign may be erased; once for each, else it is asked"
        ),
    )
    run.add_argument(
        "--load",
        action="append",
        default=[],
        metavar="NAME",
        help=tr(
            "confirm that this server of the campaign, which already runs, may be loaded: its host and port, "
            "such as db.example:5432; once for each, else it is asked"
        ),
    )
    run.add_argument(
        "--trust",
        action="store_true",
        help=tr(
            "agree to a campaign file that may run programs (server settings not known to be harmless, "
            "\\shell, scripts that want a superuser); else it is asked, and refused without a terminal"
        ),
    )
