"""Confirming that a server may be loaded: on a terminal by its name, else by --load."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.cli.terminal.consent import LoadQuestion
from app.domain.errors import CancelledError, RefusedError, UsageError, refuse
from app.execution.servers import Contact, LoadConsent, OpenServer
from tests.unit.cli.test_erasure import Person
from tests.unit.postgres.test_existing import ADDRESS, LOOK

SERVER = OpenServer(ADDRESS, LOOK)
CONTACT = Contact("host=db user=bench", "db:5432", "gate")
OWN_SERVICE = Contact("service=bench", "")


def question(person: Person | None, *confirmed: str) -> LoadQuestion:
    return LoadQuestion(confirmed, person, lambda: person is not None)


def test_server_confirmed_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    person = Person("db\n", "  db:5432 \n")
    question(person)([SERVER])
    assert len(person.prompts) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    for words in ("Server: db:5432", "Version: PostgreSQL 15.3", "shop (3 GiB)", "Round trip: 5.00 ms"):
        assert words in shown.err


def test_server_name_escaped_for_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    look = replace(LOOK, cluster_name="\x1b[2Jnice", version_text="\x9bX\u202e", databases=())
    question(None, "db:5432")([OpenServer(ADDRESS, look)])
    shown = capsys.readouterr().err
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown)
    assert "\\x1b[2Jnice" in shown


def test_no_terminal_requires_name() -> None:
    question(None, "db:5432")([SERVER])
    with pytest.raises(RefusedError, match="no terminal to ask on") as caught:
        question(None)([SERVER])
    assert caught.value.hint.endswith("--load db:5432")


def test_wrong_name_lists_known() -> None:
    with pytest.raises(UsageError, match="nothing with that name") as caught:
        question(None, "prod:5432")([SERVER])
    assert caught.value.hint == "Known: db:5432."


def test_empty_answer_is_no_consent() -> None:
    with pytest.raises(RefusedError, match="was not confirmed"):
        question(Person("\n"))([SERVER])
    with pytest.raises(CancelledError):
        question(Person())([SERVER])
    with pytest.raises(RefusedError):
        LoadConsent().confirm([SERVER])
    with pytest.raises(RefusedError):
        refuse([])


def test_connection_target_confirmed_first(capsys: pytest.CaptureFixture[str]) -> None:
    person = Person("Yes\n")
    question(person).contact([CONTACT, OWN_SERVICE])
    assert len(person.prompts) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    for words in ("db:5432  (host=db user=bench)", "over ssh: gate", "PGPASSWORD (to any server)"):
        assert words in shown.err
    with pytest.raises(RefusedError, match="Nothing was done"):
        question(Person("no\n")).contact([CONTACT])
    with pytest.raises(CancelledError, match="Nothing was done"):
        question(Person()).contact([CONTACT])


def test_given_name_and_own_service_unasked() -> None:
    question(None, "db:5432").contact([CONTACT, OWN_SERVICE])
    question(None).contact([OWN_SERVICE])


def test_different_host_not_connected() -> None:
    with pytest.raises(RefusedError, match="no terminal to ask on") as caught:
        question(None).contact([CONTACT, CONTACT])
    assert caught.value.hint.endswith("add: --load db:5432")
    with pytest.raises(UsageError, match="nothing with that name"):
        question(None, "prod:5432").contact([CONTACT])
    # With a service its name is known only once it was reached: whatever is left of the others is asked.
    with pytest.raises(RefusedError):
        question(None, "prod:5432").contact([CONTACT, OWN_SERVICE])


def test_no_prompt_means_no_connection() -> None:
    with pytest.raises(RefusedError, match="Nothing was done"):
        LoadConsent().contact([CONTACT])


def test_campaign_server_name_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    question(Person("yes\n")).contact([Contact("host=\u202edb", "\u202edb:5432")])
    assert "\u202e" not in capsys.readouterr().err
