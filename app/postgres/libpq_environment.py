"""libpq's variables of the environment: all are forgotten but those with which a server of others is reached.

Source: PostgreSQL 18 manual 34.15 "Environment Variables".
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import Final

OWN_VARIABLES: Final = "PGFOOTING_"
"""How the names of our own variables begin: PGFOOTING_LOG, PGFOOTING_LANGUAGE."""
KEPT: Final = frozenset({"PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE", "PGSYSCONFDIR"})
"""Where libpq finds secrets and services of a server that already runs. They redirect nothing: a server of
our own is reached by a password that its connection states."""


def forget_libpq_environment(environment: MutableMapping[str, str] = os.environ) -> tuple[str, ...]:
    """Remove every other PG* variable and return the names: they would redirect or change our connections.

    A variable such as PGSERVICE, PGOPTIONS or PGHOSTADDR counts wherever a connection string says nothing.
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
