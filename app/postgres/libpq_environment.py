"""Remove libpq's environment variables, except those needed to reach a server that already runs.

Source: PostgreSQL 18 manual 34.15 "Environment Variables".
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import Final

OWN_VARIABLES: Final = "PGFOOTING_"
"""Prefix of our own variables: PGFOOTING_LOG, PGFOOTING_LANGUAGE."""
KEPT: Final = frozenset({"PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE", "PGSYSCONFDIR"})
"""Sources of secrets and services for a server that already runs. They cannot redirect connections to our own
server, whose password is part of the connection string.
"""


def forget_libpq_environment(environment: MutableMapping[str, str] = os.environ) -> tuple[str, ...]:
    """Remove all other PG* variables and return their names: they would redirect or change our connections.

    A variable such as PGSERVICE, PGOPTIONS or PGHOSTADDR applies to every parameter that a connection string
    omits.
    """
    names = tuple(
        sorted(
            name
            for name in environment
            if name.startswith("PG") and name not in KEPT and not name.startswith(OWN_VARIABLES)
        )
    )
    for name in names:
        del environment[name]
    return names
