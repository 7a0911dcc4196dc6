from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from app.domain.errors import ServerError
from app.postgres.connection import connect, connection_string, socket_path
from app.postgres.libpq_environment import forget_libpq_environment


def test_the_connection_string_reaches_only_the_accounts_server() -> None:
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


def test_a_socket_path_below_the_limit_is_taken() -> None:
    folder = "/" + "a" * (99 - 1 - len("/.s.PGSQL.5432"))
    assert len(socket_path(folder)) == 99


@pytest.mark.parametrize("folder", ["/" + "a" * 85, "/ä" + "ä" * 43, "relative", "@abstract", "/with,comma"])
def test_refuses_a_folder_in_which_no_socket_can_be(folder: str) -> None:
    with pytest.raises(ServerError, match="cannot be the server's socket") as caught:
        socket_path(folder)
    assert "Nothing was started" in caught.value.hint


def test_every_libpq_variable_that_redirects_is_forgotten_and_no_other() -> None:
    kept = {"PATH": "/bin", "XPG": "1", "PGPASSWORD": "s", "PGSERVICEFILE": "/s", "PGFOOTING_LOG": "debug"}
    environment = {"PGSERVICE": "x", "PGHOSTADDR": "10.0.0.1", **kept}
    assert forget_libpq_environment(environment) == ("PGHOSTADDR", "PGSERVICE")
    assert environment == kept


def test_a_server_that_is_not_there_is_told_in_libpqs_words() -> None:
    with pytest.raises(ServerError, match="No such file or directory"):
        connect(connection_string("/nowhere/at/all", "postgres", "postgres", "secret"))
