"""Going through the wizard without its window, with answers of this machine given by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
from typing_extensions import override

from app.domain.campaign.configuration import FolderTarget, MemoryTarget
from app.domain.errors import (
    CampaignError,
    FootingError,
    InstallationError,
    SettingError,
    TargetError,
)
from app.draft.draft import CampaignDraft, DraftFlow
from app.draft.fields.state import ABOUT_DISKS, OWN_SCRIPTS, DraftEnvironment, Place, ScriptDraft, Step
from app.draft.machine_answers import (
    CampaignQuestion,
    MachineAnswer,
    MachineQuestion,
    PostgresQuestion,
    ScriptsQuestion,
    TargetQuestion,
    TrustQuestion,
    answer,
)
from app.hosts.folders.targets import CheckedTarget
from app.postgres.settings import Machine
from app.process.starter import current_account

MACHINE = Machine(8 << 30, None, 4)
ENVIRONMENT = DraftEnvironment(MACHINE, current_account())


def flow_here() -> DraftFlow:
    return DraftFlow(CampaignDraft(environment=ENVIRONMENT))


def agree(draft: CampaignDraft, step: Step) -> None:
    """Answer everything that a step wants to know with yes."""
    while questions := draft.questions_for(step):
        for question in questions:
            is_place = isinstance(question, TargetQuestion)
            draft.take(MachineAnswer(question, CheckedTarget("/x", "", 1 << 40) if is_place else None))


def refuse(draft: CampaignDraft, kind: type[MachineQuestion], error: FootingError, step: Step) -> None:
    """Answer one kind of question with no, everything else with yes."""
    while questions := draft.questions_for(step):
        for question in questions:
            wrong = error if isinstance(question, kind) else None
            draft.take(MachineAnswer(question, error=wrong))


def test_pages_wait_for_machine() -> None:
    flow = DraftFlow(CampaignDraft())
    problem = flow.obstacle()
    assert problem is not None
    assert problem.pending
    assert flow.draft.questions_for(Step.REVIEW) == ()


def test_default_flow_has_five_steps() -> None:
    flow = flow_here()
    seen = [flow.step]
    agree(flow.draft, Step.REVIEW)
    while flow.advance():
        seen.append(flow.step)
    assert tuple(seen) == flow.steps == tuple(step for step in Step if step not in ABOUT_DISKS)
    assert flow.is_last
    assert flow.obstacle() is None
    assert all(flow.is_complete(step) for step in flow.steps[:-1])


def test_pending_answer_blocks_step() -> None:
    flow = flow_here()
    assert not flow.advance()
    assert flow.reason() == "Checking this machine …"
    agree(flow.draft, Step.WHERE)
    assert flow.advance()


def test_each_step_asks_only_what_it_needs() -> None:
    draft = flow_here().draft
    kinds = {}
    for step in draft.steps:
        kinds[step] = [type(question) for question in draft.questions_for(step)]
        agree(draft, step)
    assert kinds == {
        Step.WHERE: [TargetQuestion, TargetQuestion],
        Step.POSTGRESQL: [PostgresQuestion],
        Step.WORKLOAD: [CampaignQuestion],
        Step.MORE: [CampaignQuestion],
        Step.REVIEW: [TrustQuestion, CampaignQuestion],
    }


def test_required_room_follows_data_size() -> None:
    draft = flow_here().draft
    small = [q.need_bytes for q in draft.questions_for(Step.WHERE) if isinstance(q, TargetQuestion)]
    draft.parts.values["workload.size"] = "large"
    large = [q.need_bytes for q in draft.questions_for(Step.WHERE) if isinstance(q, TargetQuestion)]
    assert max(small) < 250e6
    assert min(large) > 16e9


@pytest.mark.parametrize(
    ("question", "error", "asked", "step", "field"),
    [
        (TargetQuestion, TargetError("no"), Step.WHERE, Step.WHERE, "target.folder.path"),
        (
            PostgresQuestion,
            InstallationError("no"),
            Step.POSTGRESQL,
            Step.POSTGRESQL,
            "postgresql.installation",
        ),
        (PostgresQuestion, SettingError("no"), Step.POSTGRESQL, Step.POSTGRESQL, "postgresql.settings"),
        (
            PostgresQuestion,
            CampaignError("no", field="postgresql.settings.port"),
            Step.POSTGRESQL,
            Step.POSTGRESQL,
            "postgresql.settings.port",
        ),
        (CampaignQuestion, TargetError("no"), Step.WORKLOAD, Step.WORKLOAD, "workload.size"),
        (
            CampaignQuestion,
            CampaignError("no", field="workload.scale"),
            Step.WORKLOAD,
            Step.WORKLOAD,
            "workload.scale",
        ),
    ],
)
def test_machine_refusal_at_the_field(
    question: type[MachineQuestion], error: FootingError, asked: Step, step: Step, field: str
) -> None:
    flow = flow_here()
    flow.step = asked
    refuse(flow.draft, question, error, asked)
    problem = flow.obstacle()
    assert problem is not None
    assert (flow.page_of(problem), problem.path, problem.message, problem.pending) == (
        step,
        field,
        "no",
        False,
    )
    assert not flow.advance()


def test_configuration_refusal_names_it() -> None:
    draft = flow_here().draft
    copy = draft.copy_configuration(draft.configuration_of(Place.FOLDER))
    copy.texts["postgresql.settings"] = "shared_buffers = 1TB"
    agree(draft, Step.WORKLOAD)
    for question in draft.questions_for(Step.MORE):
        assert isinstance(question, CampaignQuestion)
        wrong = question.campaign.configurations[0].name == "folder 2"
        draft.take(MachineAnswer(question, error=SettingError("too much", hint="less") if wrong else None))
    (problem,) = draft.problems_for(Step.MORE)
    assert (problem.path, problem.message) == ("configuration[2]", "“folder 2”: too much")
    assert problem.hint == "less"


def test_refusal_asked_again_approval_kept() -> None:
    draft = flow_here().draft
    for question in draft.questions_for(Step.WHERE):
        assert isinstance(question, TargetQuestion)
        in_memory = isinstance(question.target, MemoryTarget)
        draft.take(MachineAnswer(question, error=TargetError("full") if in_memory else None))
    assert [each.path for each in draft.problems_for(Step.WHERE)] == ["target.memory.size"]
    draft.forget_refusals()
    (asked,) = draft.questions_for(Step.WHERE)
    assert isinstance(asked, TargetQuestion)
    assert asked.target == MemoryTarget()


def test_stale_answer_ignored() -> None:
    draft = flow_here().draft
    old = draft.questions_for(Step.WHERE)
    draft.parts.values["target.folder.path"] = "/elsewhere"
    for question in old:
        draft.take(MachineAnswer(question, error=TargetError("no")))
    (problem, *_) = draft.problems_for(Step.WHERE)
    assert problem.path == "target.memory.size"  # this one is still asked
    assert draft.problems_for(Step.WHERE)[-1].pending


def test_back_keeps_values_and_errors() -> None:
    flow = flow_here()
    agree(flow.draft, Step.REVIEW)
    for _ in range(2):
        flow.advance()
    flow.draft.parts.values["workload.clients"] = "many"
    assert not flow.advance()
    assert flow.reason().startswith("Found “many”")
    assert flow.retreat()
    assert flow.retreat()
    assert not flow.retreat()
    assert flow.step is Step.WHERE
    assert flow.draft.parts.values["workload.clients"] == "many"
    agree(flow.draft, Step.WHERE)
    assert flow.obstacle() is None


def test_later_page_breaks_earlier_one() -> None:
    flow = flow_here()
    flow.draft.parts.values["postgresql.settings"] = "max_connections = 20"
    agree(flow.draft, Step.REVIEW)
    flow.advance()
    flow.advance()
    assert flow.step is Step.WORKLOAD
    flow.draft.parts.values["workload.clients"] = "50"
    assert not flow.advance()
    assert flow.reason() == ("Page 2: Found 20, but at least the number of clients (50) is needed.")
    assert flow.may_jump(Step.POSTGRESQL)
    assert not flow.may_jump(Step.MORE)


def test_one_jumps_forward_over_complete_pages_only() -> None:
    flow = flow_here()
    assert not flow.jump(Step.REVIEW)
    agree(flow.draft, Step.REVIEW)
    assert flow.jump(Step.REVIEW)
    assert flow.jump(Step.WHERE)
    assert flow.jump(Step.REVIEW)
    flow.jump(Step.WHERE)
    flow.draft.parts.values["repeats"] = "x"
    assert not flow.jump(Step.REVIEW)
    assert not flow.is_complete(Step.WORKLOAD)


def test_no_server_account_on_first_page() -> None:
    flow = DraftFlow(CampaignDraft(environment=DraftEnvironment(MACHINE, account_sentence="No such user.")))
    assert flow.reason() == "No such user."
    (question,) = [TargetQuestion(FolderTarget(), 0)]
    known = answer(question, DraftEnvironment(MACHINE, account_sentence="No such user."))
    assert known.error is not None
    assert known.error.message == "No such user."


def test_exception_while_asking_becomes_reason() -> None:
    @dataclass(frozen=True)
    class Mistaken(MachineQuestion):
        waiting: ClassVar[str] = "Asking …"

        @override
        def find_out(self, environment: DraftEnvironment) -> object:
            raise ZeroDivisionError

    known = answer(Mistaken(), ENVIRONMENT)
    assert known.error is not None
    assert known.error.code == "internal"


@pytest.mark.parametrize("text", ["", "SELECT 1;"])
def test_script_file_read_on_demand(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("scripts") / "own.sql"
    path.write_text(text)
    draft = flow_here().draft
    draft.parts.values["workload.script"] = OWN_SCRIPTS
    draft.parts.scripts = [ScriptDraft(path=str(path))]
    (question,) = (q for q in draft.questions_for(Step.WORKLOAD) if isinstance(q, ScriptsQuestion))
    draft.take(answer(question, ENVIRONMENT))
    problems = [each for each in draft.problems_for(Step.WORKLOAD) if not each.pending]
    if text:
        assert problems == []
    else:
        assert [each.path for each in problems] == ["workload.script"]
        assert "is empty" in problems[0].message
        path.write_text("SELECT 2;")
        draft.forget_refusals()
        (question,) = (q for q in draft.questions_for(Step.WORKLOAD) if isinstance(q, ScriptsQuestion))
        draft.take(answer(question, ENVIRONMENT))
        assert draft.to_campaign().configurations[0].workload.scripts[0].text == "SELECT 2;"


def test_changed_script_not_run_unnoticed(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("scripts") / "own.sql"
    path.write_text("SELECT 1;")
    draft = flow_here().draft
    copy = draft.copy_configuration(draft.configuration_of(Place.MEMORY))
    copy.texts["workload.script"] = str(path)
    (question,) = draft.built.questions
    draft.take(answer(question, ENVIRONMENT))
    path.write_text("SELECT 2;")
    known = answer(CampaignQuestion(draft.to_campaign()), ENVIRONMENT)
    assert known.error is not None
    assert "changed since it was read" in known.error.message


def test_size_classes_for_machine() -> None:
    draft = flow_here().draft
    sizes = [draft.scale_choice(size) for size in ("small", "medium", "large")]
    data = [size.data_bytes / (1 << 30) for size in sizes if size]
    assert [round(each, 1) for each in data] == [0.2, 4.0, 16.0]
    assert draft.parts.values["workload.size"] == "small"  # asking changes nothing
