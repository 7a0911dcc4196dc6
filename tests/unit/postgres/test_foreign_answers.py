"""What a server that means ill tells of itself: read in bounds, shown in a line, never a mistake of ours."""

from __future__ import annotations

import pytest

from app.domain.errors import RefusedError, TargetError
from app.domain.quoting import FEW, shown
from app.domain.text import GIB
from app.postgres.existing.address import error_line, open_address
from app.postgres.existing.look import ServerLook, ServerNeeds, check_server, look_at_server
from tests.false_server import Column, answering, false_server, welcome

TEXT, BOOL, INT, NUMERIC, FLOAT, TEXTS = 25, 16, 20, 1700, 701, 1009
SERVER: tuple[Column, ...] = (
    *((TEXT, b"PostgreSQL 15.3"), (BOOL, b"f"), (TEXT, b"main"), (INT, b"100"), (INT, b"3")),
    *((TEXT, b"2026-01-01"), (TEXT, b"10.0.0.1")),
)
ROLE: tuple[Column, ...] = (
    *((BOOL, b"f"), (BOOL, b"t"), (BOOL, b"t"), (BOOL, b"t"), (TEXTS, b"{}"), (TEXTS, b"{}")),
)
DATABASES: tuple[Column, ...] = ((TEXT, b"shop"), (INT, b"1000"), (INT, b"1"))
SESSIONS: tuple[Column, ...] = ((INT, b"0"), (INT, b"0"), (INT, b"0"))
ZERO: tuple[Column, ...] = ((NUMERIC, b"0"),)


def look(**other: tuple[Column, ...]) -> ServerLook:
    """Look at a server that tells something else of one thing."""
    values = {
        "server": SERVER,
        "role": ROLE,
        "databases": DATABASES,
        "sessions": SESSIONS,
        "zero": ZERO,
    } | other
    answer = answering(
        (b"inet_server_addr", values["server"]),
        (b"rolcreatedb", values["role"]),
        (b"datistemplate", values["databases"]),
        (b"pg_stat_activity", values["sessions"]),
        (b"xact_commit", values["zero"]),
        (b"array_agg", ((TEXTS, b"{}"),)),
        (b"", ((TEXT, b"x"),)),
    )
    with false_server(welcome, answer) as server:
        address, connection = open_address(server.conninfo)
        with connection:
            return look_at_server(connection, address, "own", look_s=0.0)


def test_truthful_server_is_read() -> None:
    assert look().cluster_name == "main"


DEEP = b"{" * 100_000 + b"}" * 100_000


@pytest.mark.parametrize(
    ("what", "columns"),
    [
        ("zero", ((NUMERIC, b"Infinity"),)),
        ("zero", ((NUMERIC, b"-Infinity"),)),
        ("zero", ((NUMERIC, b"NaN"),)),
        ("zero", ((NUMERIC, b"1e100000"),)),
        ("zero", ((FLOAT, b"Infinity"),)),
        ("zero", ((TEXTS, DEEP),)),
        ("server", ((TEXTS, DEEP), *SERVER[1:])),
        ("server", (*SERVER[:3], (NUMERIC, b"Infinity"), *SERVER[4:])),
        ("server", (*SERVER[:3], (FLOAT, b"inf"), *SERVER[4:])),
        ("server", SERVER[:1]),
        ("server", ()),
        ("role", (*ROLE[:5], (TEXTS, DEEP))),
        ("role", (*ROLE[:5], (BOOL, b"t"))),
        ("databases", ((TEXT, b"x"), (TEXT, b"large"), (INT, b"1"))),
        ("databases", DATABASES[:1]),
        ("sessions", ((TEXTS, b"{1}"), *SESSIONS[1:])),
        ("sessions", SESSIONS[:2]),
    ],
)
def test_no_answer_is_a_mistake_of_ours(what: str, columns: tuple[Column, ...]) -> None:
    with pytest.raises(TargetError, match="The server does not identify itself") as caught:
        look(**{what: columns})
    assert len(caught.value.message) < 2 * FEW


def test_server_texts_are_short_printable_lines() -> None:
    evil = "x\n;rm -rf ~ #\u200b\x1b[2J".encode()
    names = b"{" + b",".join(b'"%s%d"' % (evil, number) for number in range(500)) + b"}"
    found = look(
        server=((TEXT, b"y" * 10**6), (BOOL, b"f"), (TEXT, evil), *SERVER[3:5], (TEXT, evil), (TEXT, evil)),
        role=(*ROLE[:5], (TEXTS, names)),
        databases=((TEXT, evil * 1000), *DATABASES[1:]),
    )
    texts = [found.version_text, found.cluster_name, found.started, found.server_address]
    texts += [*found.role.owned, found.databases[0].name]
    assert all(each.isprintable() and len(each) <= 201 for each in texts)
    assert found.cluster_name == r"x\n;rm -rf ~ #\u200b\x1b[2J"
    assert len(found.role.owned) == 20
    with pytest.raises(RefusedError) as caught:
        check_server(found, ServerNeeds("db:5432", 1, 1, GIB, 15))
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 1500


def test_what_is_said_is_cut() -> None:
    assert error_line(ValueError("a\n b\t" + "c" * 10**6)) == "a b " + "c" * (FEW - 4) + "…"
    assert shown("a\nb", 10) == r"a\nb"
    assert shown("\n" * 10, 10) == r"\n\n\n\n\n…"
