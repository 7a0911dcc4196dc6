from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from app.domain.errors import ServerError
from app.postgres.configuration_text import connect, connection_string
from app.postgres.libpq_environment import forget_libpq_environment


def test_connection_string_reaches_own_server() -> None:
    text = connection_string("/run/pg footing/it's", "postgres", "my 'data\\base'", "a 'secret'")
    assert {key: str(value) for key, value in conninfo_to_dict(text).items()} == {
        "host": "/run/pg footing/it's",
        "port": "5432",
        "user": "pgfooting",
        "password": "a 'secret'",
        "dbname": "my 'data\\base'",
        "requirepeer": "postgres",
        "connect_timeout": "10",
    }


def test_redirecting_libpq_variables_removed() -> None:
    kept = {"PATH": "/bin", "XPG": "1", "PGPASSWORD": "s", "PGSERVICEFILE": "/s", "PGFOOTING_LOG": "debug"}
    environment = {"PGSERVICE": "x", "PGHOSTADDR": "10.0.0.1", **kept}
    assert forget_libpq_environment(environment) == ("PGHOSTADDR", "PGSERVICE")
    assert environment == kept


def test_unreachable_server_in_libpq_words() -> None:
    with pytest.raises(ServerError, match="No such file or directory"):
        connect(connection_string("/nowhere/at/all", "postgres", "postgres", "secret"))
