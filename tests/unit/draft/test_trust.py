"""The tick of the review: for exactly what is listed, kept for just that, asked again for anything else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.campaign_file.reader import read_campaign_file
from app.campaign_file.trust import check_trust
from app.campaign_file.writer import format_campaign
from app.domain.errors import RefusedError, refuse
from app.draft.draft import CampaignDraft
from app.draft.fields.state import DraftEnvironment, Step
from app.draft.machine_answers import MachineAnswer, ScriptsQuestion, TrustQuestion, answer
from app.draft.servers import (
    TRUST_FIELD,
    Agreement,
    agreement_problems,
    agreement_text,
    keep_agreement,
    refuse_programs,
)
from app.library.trusted_campaigns import is_trusted
from app.process.starter import current_account
from tests.fix_postgres import SMALL_MACHINE

pytestmark = pytest.mark.usefixtures("own_folders")

SCRIPT = "\\shell touch /tmp/x\nCHECKPOINT;\n"


def _file(tmp_path: Path, script: str = SCRIPT) -> Path:
    (tmp_path / "own.sql").write_text(script)
    path = tmp_path / "theirs.toml"
    path.write_text('name = "Theirs"\ntarget.memory = {}\n[workload]\nscript = {file = "own.sql"}\n')
    return path


def _asked(draft: CampaignDraft) -> CampaignDraft:
    """Answer what the review asks: scripts and trust really, the rest with yes."""
    while questions := draft.questions_for(Step.REVIEW):
        for question in questions:
            real = isinstance(question, ScriptsQuestion | TrustQuestion)
            assert draft.environment is not None
            draft.take(answer(question, draft.environment) if real else MachineAnswer(question))
    return draft


def _draft(path: Path) -> CampaignDraft:
    place = None
    environment = DraftEnvironment(SMALL_MACHINE, current_account(), "", (), "", place, "/", place, ())
    return _asked(CampaignDraft.of(read_campaign_file(path).campaign, environment))


def _open_fields(draft: CampaignDraft) -> list[str]:
    return [problem.path for problem in draft.problems_for(Step.REVIEW)]


def _runner_asks(tmp_path: Path, draft: CampaignDraft) -> bool:
    """Whether a runner that is started with the draft's campaign would have to ask."""
    path = tmp_path / "launched.toml"
    path.write_text(format_campaign(draft.to_campaign()))
    try:
        check_trust(read_campaign_file(path), refuse, is_trusted=is_trusted)
    except RefusedError:
        return True
    return False


def test_review_tick_kept_only_on_request(tmp_path: Path) -> None:
    draft = _draft(_file(tmp_path))
    assert _open_fields(draft) == [TRUST_FIELD]
    assert draft.agreed_digest() == ""
    draft.agree(agreed=True)
    assert _open_fields(draft) == []
    assert _runner_asks(tmp_path, draft)  # ticked, not started
    keep_agreement(draft.agreed_digest())
    assert not _runner_asks(tmp_path, draft)


def test_removed_tick_does_not_count(tmp_path: Path) -> None:
    draft = _draft(_file(tmp_path))
    draft.agree(agreed=True)
    draft.agree(agreed=False)
    assert (_open_fields(draft), draft.agreed_digest()) == ([TRUST_FIELD], "")


def test_script_changed_after_tick(tmp_path: Path) -> None:
    path = _file(tmp_path)
    draft = _draft(path)
    draft.agree(agreed=True)
    _file(tmp_path, SCRIPT.replace("touch", "rm -r"))
    draft.forget_refusals()  # as when the page is opened again
    _asked(draft)
    assert (_open_fields(draft), draft.agreed_digest()) == ([TRUST_FIELD], "")


def test_script_changed_after_review_runner_asks(tmp_path: Path) -> None:
    draft = _draft(_file(tmp_path))
    draft.agree(agreed=True)
    keep_agreement(draft.agreed_digest())
    _file(tmp_path, SCRIPT.replace("touch", "rm -r"))
    assert _runner_asks(tmp_path, draft)
    _file(tmp_path)
    assert not _runner_asks(tmp_path, draft)


def test_harmless_script_replaced_after_review(tmp_path: Path) -> None:
    draft = _draft(_file(tmp_path, "SELECT 1;"))
    assert (_open_fields(draft), draft.agreed_digest()) == ([], "")
    keep_agreement(draft.agreed_digest())
    assert not (tmp_path / "data").exists()
    _file(tmp_path)
    assert _runner_asks(tmp_path, draft)


def test_tick_valid_for_one_campaign(tmp_path: Path) -> None:
    draft = _draft(_file(tmp_path))
    draft.agree(agreed=True)
    draft.parts.values["workload.clients"] = "7"
    assert (_open_fields(_asked(draft)), draft.agreed_digest()) == ([TRUST_FIELD], "")


def test_earlier_agreement_not_asked_again(tmp_path: Path) -> None:
    draft = _draft(_file(tmp_path))
    draft.agree(agreed=True)
    keep_agreement(draft.agreed_digest())
    again = _draft(tmp_path / "theirs.toml")
    assert (_open_fields(again), again.agreed_digest()) == ([], "")


def test_everything_is_listed_with_its_text_once(tmp_path: Path) -> None:
    agreement = _draft(_file(tmp_path)).agreement()
    assert agreement is not None
    text = agreement_text(agreement)
    assert text.count("\\shell touch /tmp/x") == 1
    assert "runs programs" in text
    assert ("pgbench would connect as a superuser, whose SQL can run programs as the server's user") in text
    assert "in: memory" in text or "in: Theirs" in text


def test_nothing_is_asked_while_nothing_is_known() -> None:
    assert agreement_problems(None, "") == ()
    assert agreement_problems(Agreement((), "1", known=False), "") == ()


def test_foreign_programs_not_opened_before_consent(tmp_path: Path) -> None:
    (tmp_path / "postgres").write_text("#!/bin/sh\n")
    (tmp_path / "postgres").chmod(0o777)  # not of root alone, whoever runs this
    path = tmp_path / "theirs.toml"
    path.write_text(f'name = "x"\ntarget.memory = {{}}\npostgresql.installation = "{tmp_path}"\n')
    with pytest.raises(RefusedError, match=re.escape(str(tmp_path))) as caught:
        refuse_programs(read_campaign_file(path))
    assert "postgresql.installation" in caught.value.hint
    path.write_text(path.read_text().replace(str(tmp_path), "newest"))
    refuse_programs(read_campaign_file(path))


def test_foreign_scripts_not_opened(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("S3CRET\n")
    (tmp_path / "theirs").mkdir()
    path = tmp_path / "theirs" / "theirs.toml"
    path.write_text('name = "x"\ntarget.memory = {}\n[workload]\nscript = {file = "../secret"}\n')
    with pytest.raises(RefusedError, match="This file names scripts outside its folder") as caught:
        refuse_programs(read_campaign_file(path))
    assert "S3CRET" not in str(caught.value)
    refuse_programs(read_campaign_file(_file(tmp_path)))
