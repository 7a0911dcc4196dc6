"""libpq connection strings for a server that pgFooting did not start; they never contain a secret.

A password comes from libpq's own sources (password file, service file, PGPASSWORD), stays in memory, and
reaches pgbench only in its environment. Sources: PostgreSQL 18 manual 34.1 "Database Connection Control
Functions", 34.15 to 34.19.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from app.domain.errors import RefusedError, TargetError, did_you_mean
from app.domain.quoting import shown
from app.domain.text import tr
from app.postgres.configuration_text import CONNECT_TIMEOUT_S, MAINTENANCE_DATABASE, STATEMENT_TIMEOUT_S
from app.process.metered import connect_bounded, parameters, resolved

LONGEST: Final = 2000
"""Maximum length of a connection string."""
SECRETS: Final = frozenset({"password", "sslpassword", "oauth_client_secret"})
_WORDS: Final = """
    channel_binding connect_timeout dbname gssencmode host hostaddr keepalives keepalives_count
    keepalives_idle keepalives_interval krbsrvname passfile port require_auth requirepeer service
    ssl_max_protocol_version ssl_min_protocol_version sslcert sslcertmode sslcrl sslcrldir sslkey sslmode
    sslnegotiation sslrootcert sslsni target_session_attrs tcp_user_timeout user
"""
ALLOWED: Final = frozenset(_WORDS.split())
"""Parameters that a campaign file may set; not ``options``, which contains settings of the session."""
_NOT_HANDED_ON: Final = SECRETS | {
    "application_name",
    "connect_timeout",
    "dbname",
    "fallback_application_name",
    "passfile",
    "service",
    "servicefile",
}
_NEWER: Final = frozenset(
    {
        *("load_balance_hosts", "max_protocol_version", "min_protocol_version", "require_auth"),
        *("scram_client_key", "scram_server_key", "sslcertmode", "sslcrldir", "sslkeylogfile"),
        *("sslnegotiation", "sslsni"),
    }
)
"""Parameters of libpq 14 to 18 that our libpq fills in, but that the libpq of an older pgbench may not know:
they are passed on only if the connection string has them.
"""
_LIVELINESS: Final = {
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""Detects a broken connection within about ten seconds; a connection string may override it."""


def connection_problem(text: str) -> str:
    """Return what is wrong with a connection string, a sentence that never quotes it; empty if valid."""
    if not text.strip() or len(text) > LONGEST or not text.isprintable():
        return tr(
            'must be a libpq connection string such as "host=db.example user=bench", "service=bench" or '
            '"postgresql://bench@db.example/".'
        )
    try:
        given = conninfo_to_dict(text)
    except psycopg.Error:  # its words repeat the text, in which a password may stand
        return _not_understood(text)
    if SECRETS & given.keys():
        return tr(
            "contains a secret: remove it from the campaign file. libpq finds passwords in ~/.pgpass, in a "
            "service, or in PGPASSWORD."
        )
    unknown = sorted(given.keys() - ALLOWED)
    if unknown:
        sentence = tr("contains “{words}”, which is not allowed here. Allowed: {allowed}.")
        return sentence.format(words=", ".join(unknown), allowed=", ".join(sorted(ALLOWED)))
    return _misplaced(given)


def _not_understood(text: str) -> str:
    """Return the sentence for an invalid connection string, with a suggestion for an unknown parameter."""
    sentence = tr('is not a valid libpq connection string, such as "host=db.example user=bench".')
    words = [word for word in re.findall(r"(\w+)\s*=", text) if word not in ALLOWED]
    return f"{sentence} {did_you_mean(words[0], sorted(ALLOWED)) if words else ''}".rstrip()


def _misplaced(given: Mapping[str, object]) -> str:
    """Return why it names several servers, or another one than the password is for; empty if valid."""
    if "service" in given and {"host", "hostaddr"} & given.keys():
        return tr(
            "names a service and a host, but a service's password is for the service's host. Remove one of "
            "them."
        )
    if any("," in str(given.get(word, "")) for word in ("host", "hostaddr", "port")):
        return tr("names several servers; only one is allowed.")
    port = str(given.get("port", "1"))
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 1 << 16):
        return tr("has an invalid port; allowed: a number from 1 to 65535.")
    return ""


def named_server(text: str) -> str:
    """Return the server that a valid connection string names itself, see `ServerAddress.name`.

    Empty if it has only a database (without a service: or a role): then the user's own service, or the
    default of this machine, determines where a password is sent, and how. Nothing is sent to find it out.

    Raises:
        RefusedError: it contradicts the user's own service.
    """
    given = conninfo_to_dict(text)
    if given.keys() <= ({"service", "dbname"} if "service" in given else {"dbname", "user"}):
        return ""
    _check_service(given)
    connection = resolved(text)
    try:
        found = parameters(connection)
        host = connection.host.decode() or found.get("service") or given.get("service")
        return _name(host, found.get("hostaddr"), given.get("port") or connection.port.decode())
    finally:
        connection.finish()


def _check_service(given: Mapping[str, object]) -> None:
    """Check that a connection string does not contradict the service that it names.

    Raises:
        RefusedError: it does: a password of the service would go elsewhere, or less protected.
    """
    if "service" not in given:
        return
    default, own = map(parameters, (resolved(""), resolved(make_conninfo("", service=str(given["service"])))))
    said = {word: value for word, value in own.items() if value != default.get(word)}
    others = sorted(given.keys() & said.keys() - {"service", "dbname"})
    words = [word for word in others if said[word] != str(given[word])]
    if words:
        message = tr("Your service {service} sets {words}, which contradicts the campaign. Nothing was sent.")
        raise RefusedError(
            message.format(service=given["service"], words=", ".join(words)),
            hint=tr("Remove these words from the connection, or change the service."),
        )


def _name(host: object, hostaddr: object, port: object) -> str:
    """Join host name and address, if both are given: the address is connected, with the name's password."""
    return f"{'/'.join(dict.fromkeys(str(each) for each in (host, hostaddr) if each))}:{port}"


def own_connection(text: str, database: str) -> str:
    """Return a valid connection string for another database; for use before the first connection."""
    return make_conninfo(text, dbname=database)


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A server that was reached once, with all parameters that libpq resolved.

    Attributes:
        parameters: of libpq, without secrets and without a database.
        database: for statistics, and for creating pgFooting's own database.
        secret: the password that was used; empty for none.
    """

    parameters: Mapping[str, str]
    database: str = MAINTENANCE_DATABASE
    secret: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The text that a user types to agree to load on this server: host (or socket folder) and port.

        If the connection string also gives an address, it follows the host after a slash.
        """
        parameters = self.parameters
        return _name(parameters["host"], parameters.get("hostaddr"), parameters["port"])

    @property
    def user(self) -> str:
        """The role."""
        return self.parameters["user"]

    @property
    def is_socket(self) -> bool:
        """Whether it is reached over a Unix socket of this machine."""
        return self.parameters["host"].startswith(("/", "@"))

    def bare(self, database: str) -> str:
        """Return a connection string without a secret, for argument lists that all users can read."""
        return make_conninfo("", **self.parameters, dbname=database)

    def conninfo(self, database: str = "") -> str:
        """Return a connection string with the secret: never print it."""
        secret = {"password": self.secret} if self.secret else {}
        return make_conninfo("", **self.parameters, **secret, dbname=database or self.database)

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables that libpq programs need with `bare`: the secret, if there is one."""
        return {"PGPASSWORD": self.secret} if self.secret else {}

    def connect(
        self, database: str = "", statement_timeout_s: int = STATEMENT_TIMEOUT_S
    ) -> psycopg.Connection[tuple[object, ...]]:
        """Return a connection in autocommit mode; may raise psycopg.Error.

        Args:
            database: empty for `database`.
            statement_timeout_s: 0 for none.
        """
        return _connect(self.conninfo(database), statement_timeout_s)


def _connect(conninfo: str, statement_timeout_s: int) -> psycopg.Connection[tuple[object, ...]]:
    given = conninfo_to_dict(conninfo)
    live = {word: value for word, value in _LIVELINESS.items() if word not in given}
    connection = connect_bounded(
        make_conninfo(conninfo, **live),
        timeout_s=CONNECT_TIMEOUT_S,
        statement_timeout_s=statement_timeout_s,
        name="pgfooting",
    )
    try:
        # Statements and not libpq's "options": a service may have options of its own.
        connection.execute(f"SET statement_timeout = '{statement_timeout_s}s'".encode())
        connection.execute("SET client_min_messages = warning")
        connection.execute("SET search_path = pg_catalog")
    except BaseException:
        connection.close()
        raise
    return connection


def error_line(error: BaseException) -> str:
    """Return the message of libpq or the server in one line of limited length."""
    return shown(" ".join(str(error).split()))


def open_address(text: str) -> tuple[ServerAddress, psycopg.Connection[tuple[object, ...]]]:
    """Connect to a server, with libpq's defaults on this machine.

    Args:
        text: a valid connection string.

    Returns:
        The resolved address, and the connection.

    Raises:
        RefusedError: it contradicts the user's own service; nothing was sent.
        TargetError: it cannot be reached, or rejects us; carries libpq's message.
    """
    given = conninfo_to_dict(text)
    _check_service(given)
    if "service" not in given and "dbname" not in given:
        given["dbname"] = MAINTENANCE_DATABASE
    try:
        connection = _connect(make_conninfo("", **given), STATEMENT_TIMEOUT_S)
    except (psycopg.Error, UnicodeError) as error:
        message = tr("The server cannot be reached: {reason} Nothing was done there.")
        raise TargetError(
            message.format(reason=_sentence(error_line(error))), hint=_hint(error_line(error))
        ) from error
    info = connection.info
    left_out = _NOT_HANDED_ON | (_NEWER - given.keys())
    kept = {name: value for name, value in info.get_parameters().items() if name not in left_out}
    reached = {"host": info.host, "port": str(info.port), "user": info.user}
    address = ServerAddress({**kept, **reached}, info.dbname, info.password or "")
    return address, connection


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _hint(reason: str) -> str:
    """Return a hint for some of libpq's messages, which are always in English."""
    if "password" in reason:
        return tr("libpq looks for the password in ~/.pgpass (mode 0600), in a service, or in PGPASSWORD.")
    if "translate host name" in reason or "resolve" in reason:
        return tr("The host name has no address here: check its spelling.")
    if "certificate" in reason or "SSL" in reason or "root.crt" in reason:
        return tr("sslmode and sslrootcert in the connection control how TLS is verified, as in psql.")
    return ""
