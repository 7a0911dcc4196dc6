"""Confirming that a server may be loaded: on a terminal by its name, else by --load."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.cli.terminal.consent import LoadQuestion
from app.domain.errors import CancelledError, RefusedError, UsageError
from app.execution.servers import Contact, LoadConsent, OpenServer, refuse_load
from tests.unit.cli.test_erasure import Person
from tests.unit.postgres.test_existing import ADDRESS, LOOK

SERVER = OpenServer(ADDRESS, LOOK)
CONTACT = Contact("host=db user=bench", "db:5432", "gate")
OWN_SERVICE = Contact("service=bench", "")


def question(person: Person | None, *confirmed: str) -> LoadQuestion:
    return LoadQuestion(confirmed, person, lambda: person is not None)


def test_a_server_is_shown_and_confirmed_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    person = Person("db\n", "  db:5432 \n")
    question(person)([SERVER])
    assert len(person.prompts) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    for words in ("Server: db:5432", "Version: PostgreSQL 15.3", "shop (3 GiB)", "Round trip: 5.00 ms"):
        assert words in shown.err


def test_what_a_server_calls_itself_cannot_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    look = replace(LOOK, cluster_name="\x1b[2Jnice", version_text="\x9bX\u202e", databases=())
    question(None, "db:5432")([OpenServer(ADDRESS, look)])
    shown = capsys.readouterr().err
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown)
    assert "\\x1b[2Jnice" in shown


def test_without_a_terminal_the_name_has_to_be_given() -> None:
    question(None, "db:5432")([SERVER])
    with pytest.raises(RefusedError, match="no terminal to ask on") as caught:
        question(None)([SERVER])
    assert caught.value.hint.endswith("--load db:5432")


def test_another_name_is_told_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="no server of the campaign") as caught:
        question(None, "prod:5432")([SERVER])
    assert caught.value.hint == "Its servers are: db:5432."


def test_who_types_nothing_or_leaves_has_not_agreed() -> None:
    with pytest.raises(RefusedError, match="was not confirmed"):
        question(Person("\n"))([SERVER])
    with pytest.raises(CancelledError):
        question(Person())([SERVER])
    with pytest.raises(RefusedError):
        LoadConsent().confirm([SERVER])
    with pytest.raises(RefusedError):
        refuse_load([])


def test_where_a_campaign_connects_to_is_told_and_agreed_to_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    person = Person("Yes\n")
    question(person).contact([CONTACT, OWN_SERVICE])
    assert len(person.prompts) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    for words in ("db:5432  (host=db user=bench)", "over ssh: gate", "PGPASSWORD whichever server it is"):
        assert words in shown.err
    with pytest.raises(RefusedError, match="Nothing was sent there"):
        question(Person("no\n")).contact([CONTACT])
    with pytest.raises(CancelledError, match="Nothing was sent there"):
        question(Person()).contact([CONTACT])


def test_a_name_that_was_given_and_a_service_of_ones_own_need_no_question() -> None:
    question(None, "db:5432").contact([CONTACT, OWN_SERVICE])
    question(None).contact([OWN_SERVICE])


def test_another_host_than_the_one_that_was_given_is_not_connected_to() -> None:
    with pytest.raises(RefusedError, match="no terminal to ask on") as caught:
        question(None).contact([CONTACT, CONTACT])
    assert caught.value.hint.endswith("add: --load db:5432")
    with pytest.raises(UsageError, match="no server of the campaign"):
        question(None, "prod:5432").contact([CONTACT])
    # With a service its name is known only once it was reached: whatever is left of the others is asked.
    with pytest.raises(RefusedError):
        question(None, "prod:5432").contact([CONTACT, OWN_SERVICE])


def test_who_has_no_way_to_ask_connects_to_nothing() -> None:
    with pytest.raises(RefusedError, match="nothing was sent there"):
        LoadConsent().contact([CONTACT])


def test_what_a_campaign_calls_its_server_cannot_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    question(Person("yes\n")).contact([Contact("host=\u202edb", "\u202edb:5432")])
    assert "\u202e" not in capsys.readouterr().err
