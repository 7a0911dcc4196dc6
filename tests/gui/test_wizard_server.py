"""A server that already runs in the wizard: chosen on the first page, shown and agreed to on the last."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.campaign_file.reader import parse_campaign
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import ServerTarget
from app.draft.draft import CampaignDraft
from app.draft.fields.state import DraftEnvironment, Place, Step
from app.draft.from_campaign import draft_text
from app.draft.machine_answers import MachineAnswer, MachineQuestion, ServerQuestion
from app.execution.servers import OpenServer
from tests.gui.test_wizard import MakeWizard, control, go_on, known_draft, make_wizard, page_of
from tests.unit.postgres.test_existing import ADDRESS, LOOK
from ui.widgets.fields import HELP
from ui.wizard.background import disk_feed
from ui.wizard.base.help_panel import help_for
from ui.wizard.pages.configurations_page import MorePage
from ui.wizard.pages.postgres_page import PostgresPage
from ui.wizard.pages.review_page import ReviewPage
from ui.wizard.pages.target_page import WherePage

__all__ = ["make_wizard"]

CONNECTION = "host=db user=bench"
OTHER = "host=other user=bench"
EVIL = replace(LOOK, cluster_name="<b>bold</b>\x1b[2J")


def on_server(connection: str = CONNECTION) -> CampaignDraft:
    """A draft of a server alone."""
    draft = known_draft()
    for place in (Place.FOLDER, Place.MEMORY):
        draft.choose_place(place, ticked=False)
    draft.choose_place(Place.SERVER, ticked=True)
    draft.parts.values["target.server.connection"] = connection
    return draft


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every question is answered with yes, and that about a server with one that gives itself a bad name."""

    def answer(question: MachineQuestion, _environment: DraftEnvironment) -> MachineAnswer:
        server = OpenServer(ADDRESS, EVIL) if isinstance(question, ServerQuestion) else None
        return MachineAnswer(question, server)

    monkeypatch.setattr(disk_feed, "answer", answer)


def look_there(qtbot: QtBot, page: ReviewPage) -> None:
    """Say that the servers may be looked at, and wait for what is found."""
    page._loaded.look.click()
    qtbot.waitUntil(lambda: bool(page._loaded.servers.fields))


@pytest.mark.usefixtures("found")
def test_server_starts_after_name_typed(qtbot: QtBot, make_wizard: MakeWizard, tmp_path: Path) -> None:
    wizard = make_wizard(on_server())
    first = page_of(wizard, WherePage)
    assert first.boxes[Place.SERVER].isChecked()
    assert control(first, "target.server.connection").text() == CONNECTION
    assert control(first, "target.server.connection").isEnabled()
    go_on(qtbot, wizard, Step.POSTGRESQL, Step.WORKLOAD, Step.MORE, Step.REVIEW)
    page = page_of(wizard, ReviewPage)
    servers = page._loaded.servers
    assert not servers.fields
    look_there(qtbot, page)
    texts = "\n".join(text.text() for text in servers.texts)
    for words in ("Server\ndb:5432", "shop (3 GiB)", "<b>bold</b> [2J", "pgfooting_bench"):
        assert words in texts
    assert not wizard.next.isEnabled()
    assert "Type the server's name, db:5432" in wizard.reason.text()
    field = servers.fields[CONNECTION]
    QTest.keyClicks(field, "db:543")
    assert not wizard.next.isEnabled()
    assert wizard.draft.agreed_servers() == ()
    QTest.keyClicks(field, "2")
    qtbot.waitUntil(wizard.next.isEnabled)
    assert wizard.draft.agreed_servers() == ("db:5432",)
    assert "db:5432" not in draft_text(wizard.draft.parts), "what was typed to agree is never kept"
    (made,) = wizard.draft.to_campaign().configurations
    assert made.target == ServerTarget(CONNECTION)


@pytest.mark.usefixtures("found")
def test_reference_needs_own_name_typed(
    qtbot: QtBot, make_wizard: MakeWizard, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = replace(ADDRESS, parameters={**ADDRESS.parameters, "host": "other"})

    def answer(question: MachineQuestion, _environment: DraftEnvironment) -> MachineAnswer:
        if not isinstance(question, ServerQuestion):
            return MachineAnswer(question)
        address = others if question.connection == OTHER else ADDRESS
        return MachineAnswer(question, OpenServer(address, LOOK))

    monkeypatch.setattr(disk_feed, "answer", answer)
    wizard = make_wizard(on_server())
    wizard.draft.parts.values["target.server.ssh"] = "machine"
    go_on(qtbot, wizard, Step.POSTGRESQL, Step.WORKLOAD, Step.MORE)
    more = page_of(wizard, MorePage)
    for words in (
        (
            "To rank two campaigns, measure an unchanged reference server in both, under "
            "the same name, at least"
        ),
        "at least 3 times",
        "pgFooting needs ssh",
        "pg_monitor",
    ):
        assert words in more.about_reference.text()
    assert more.about_reference.isVisible()
    more.reference.click()
    row = more.list.item(1, 0)
    assert row is not None
    assert row.text() == "reference"
    assert not more.reference.isEnabled(), "one is enough"
    form: dict[str, Any] = dict(more.editor.form.fields)
    assert form["target.server.connection"].control.hasFocus()
    qtbot.waitUntil(lambda: not form["target.server.connection"].control.visibleRegion().isEmpty())
    assert form["target.server.ssh"].control.text() == "machine", "it is on the machine of the other"
    missing = form["target.server.connection"].error
    qtbot.waitUntil(lambda: "is missing" in missing.text())
    assert not wizard.next.isEnabled()
    QTest.keyClicks(form["target.server.connection"].control, OTHER)
    QTest.keyClicks(form["target.server.room"].control, "lots")
    result = form["target.server.room"].error
    qtbot.waitUntil(lambda: "lots" in result.text())
    form["target.server.room"].control.clear()
    QTest.keyClicks(form["target.server.room"].control, "20 GiB")
    qtbot.waitUntil(lambda: not result.text())
    go_on(qtbot, wizard, Step.REVIEW)
    campaign = wizard.draft.to_campaign()
    made = ServerTarget(OTHER, 20 << 30, "machine")
    assert [(each.name, each.target) for each in campaign.configurations] == [
        ("server", ServerTarget(CONNECTION, ssh="machine")),
        ("reference", made),
    ]
    assert parse_campaign(format_campaign(campaign), base_directory="/", source_name="saved") == campaign
    again = CampaignDraft.of(campaign).parts.on_servers()[1]
    assert again.place is Place.OTHER_SERVER
    keys = ("target.server.connection", "target.server.room", "target.server.ssh")
    assert [again.texts[key] for key in keys] == [OTHER, "20 GiB", "machine"]
    page = page_of(wizard, ReviewPage)
    assert OTHER in page._loaded.contact.text()
    page._loaded.look.click()
    qtbot.waitUntil(lambda: len(page._loaded.servers.fields) == 2)
    QTest.keyClicks(page._loaded.servers.fields[CONNECTION], ADDRESS.name)
    assert not wizard.next.isEnabled()
    assert f"Type the server's name, {others.name}" in wizard.reason.text()
    QTest.keyClicks(page._loaded.servers.fields[OTHER], others.name)
    qtbot.waitUntil(wizard.next.isEnabled)
    assert wizard.draft.agreed_servers() == (ADDRESS.name, others.name)


def test_reference_requires_server(make_wizard: MakeWizard) -> None:
    wizard = make_wizard(known_draft())
    more = page_of(wizard, MorePage)
    wizard.flow.step = wizard.flow.furthest = Step.MORE
    wizard._open_page()
    assert not more.reference.isVisible()
    assert not more.about_reference.isVisible()


def test_no_connection_before_last_page(
    qtbot: QtBot, make_wizard: MakeWizard, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[ServerQuestion] = []

    def answer(question: MachineQuestion, _environment: DraftEnvironment) -> MachineAnswer:
        if not isinstance(question, ServerQuestion):
            return MachineAnswer(question)
        asked.append(question)
        return MachineAnswer(question, OpenServer(ADDRESS, LOOK))

    monkeypatch.setattr(disk_feed, "answer", answer)
    wizard = make_wizard(on_server())
    wizard.draft.parts.values["target.server.ssh"] = "machine"
    go_on(qtbot, wizard, Step.POSTGRESQL, Step.WORKLOAD, Step.MORE, Step.REVIEW)
    page = page_of(wizard, ReviewPage)
    qtbot.waitUntil(lambda: not wizard.asking._running)
    assert asked == []
    assert not wizard.next.isEnabled()
    assert "it has not connected yet" in wizard.reason.text()
    text = page._loaded.contact.text()
    assert text.splitlines()[1:3] == [CONNECTION, "and queries its machine over ssh: machine"]
    assert "PGPASSWORD" in text
    look_there(qtbot, page)
    assert asked == [ServerQuestion(CONNECTION, "machine")]
    assert not page._loaded.look.isVisible()
    assert not page._loaded.contact.isVisible()
    assert "machine" not in str(json.loads(draft_text(wizard.draft.parts))["parts"].get("contacted"))
    wizard.draft.parts.values["target.server.connection"] = OTHER
    page.report_change()
    assert page._loaded.look.isVisible(), "what was said of one server holds for no other"
    assert OTHER in page._loaded.contact.text()
    assert not page._loaded.servers.fields
    wizard.draft.parts.values["target.server.connection"] = CONNECTION
    page.report_change()
    assert not page._loaded.look.isVisible()
    wizard.draft.forget_confirmations()
    page.report_change()
    look_there(qtbot, page)
    assert asked == [ServerQuestion(CONNECTION, "machine")] * 2, "after a campaign began it is looked at anew"


def test_password_in_connection_reported_unrepeated(make_wizard: MakeWizard) -> None:
    wizard = make_wizard(on_server("host=db password=sesame"))
    assert not wizard.next.isEnabled()
    assert (
        "libpq finds passwords in ~/.pgpass, in a service, or in PGPASSWORD"
        in wizard.next.accessibleDescription()
    )
    assert "sesame" not in wizard.next.accessibleDescription() + wizard.reason.text()


def test_server_fields_shown_when_ticked(make_wizard: MakeWizard) -> None:
    wizard = make_wizard(on_server())
    page = page_of(wizard, WherePage)
    fields = [field for key, field in page.fields.items() if key.startswith("target.server.")]
    assert len(fields) == 3
    assert all(field.isEnabled() for field in fields)
    page.boxes[Place.SERVER].setChecked(False)
    assert not any(field.isEnabled() for field in fields)


def explained(page: PostgresPage) -> str:
    """Return what the quiet panel says of the choice of programs."""
    return help_for(str(page.installation.property(HELP))).text


def test_running_server_hides_refused_options(
    make_wizard: MakeWizard,
) -> None:
    refused = {"postgresql.preset", "postgresql.checksums", "postgresql.settings.shared_buffers"}
    wizard = make_wizard(on_server())
    page, more = wizard.pages[Step.POSTGRESQL], wizard.pages[Step.MORE]
    assert isinstance(page, PostgresPage)
    assert isinstance(more, MorePage)
    wizard.flow.step = wizard.flow.furthest = Step.MORE
    wizard._open_page()
    offered = set(more.dimensions.editors)
    assert "postgresql.settings.synchronous_commit" in offered
    assert not offered & refused
    wizard.flow.step = Step.POSTGRESQL
    wizard._open_page()
    assert page.as_it_is.isVisible()
    assert "pgbench from this installation" in explained(page)
    assert not page.fields["postgresql.checksums"].control.isVisible()
    assert not page.fields["postgresql.preset"].control.isVisible()
    control(page, "postgresql.checksums").setChecked(False)  # of a ticked folder: shown, as it is refused
    wizard._open_page()
    assert page.fields["postgresql.checksums"].control.isVisible()
    wizard.draft.choose_place(Place.FOLDER, ticked=True)
    page.report_change()
    assert page.fields["postgresql.preset"].control.isVisible()
    assert not page.as_it_is.isVisible()
    assert "pgFooting starts its own server from it" in explained(page)
    wizard.flow.step = Step.MORE
    wizard._open_page()
    assert refused <= set(more.dimensions.editors)


def test_failed_question_reported_and_repeated(
    qtbot: QtBot, make_wizard: MakeWizard, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[MachineQuestion] = []

    def answer(question: MachineQuestion, _environment: DraftEnvironment) -> MachineAnswer:
        asked.append(question)
        if asked.count(question) == 1:
            raise RuntimeError("a mistake of ours")
        return MachineAnswer(
            question, OpenServer(ADDRESS, LOOK) if isinstance(question, ServerQuestion) else None
        )

    monkeypatch.setattr(disk_feed, "answer", answer)
    wizard = make_wizard(on_server())
    qtbot.waitUntil(lambda: bool(asked))
    first = asked[0]
    qtbot.waitUntil(lambda: first not in wizard.asking._running)
    wizard.asking.ask_now(Step.REVIEW)
    qtbot.waitUntil(lambda: asked.count(first) == 2)
