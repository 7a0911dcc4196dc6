"""The wizard without its window: typed texts, their problems, the way through the steps, the campaign.

::

    fields (`app.draft.fields`) -> `app.draft.builder` -> problems of fields, questions, campaign
    questions -> answered in the background (`machine_questions`) -> problems that only the machine knows

A draft never waits: an open question is a *pending* problem, which disappears with its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from app.analysis.properties import KIND, LABELS, PATH, TARGET, Property, properties_of
from app.comparison.differences import compare_properties
from app.domain.campaign.configuration import (
    Campaign,
    Configuration,
    FolderTarget,
    MemoryTarget,
    Target,
    Workload,
)
from app.domain.errors import (
    CampaignError,
    FootingError,
    InstallationError,
    Problem,
    SettingError,
    TargetError,
)
from app.domain.options.option_spec import USUAL_PAGE_BYTES
from app.domain.storage_plan.plan import Role, StoragePlan
from app.domain.storage_plan.reader import PlanError
from app.domain.text import quoted, tr
from app.draft.builder import ValidationResult, build
from app.draft.commands import making_lines, plan_of
from app.draft.disks.layout import DrawnGroup, draw
from app.draft.disks.problems import cell_problems, storage_problems
from app.draft.disks.table import InspectionResult, StorageFacts, confirmation_problems, forget_confirmations
from app.draft.disks.target import read_target
from app.draft.fields.state import (
    ConfigurationDraft,
    DraftEnvironment,
    DraftParts,
    Place,
    Step,
    automatic_name,
    put,
    step_of,
)
from app.draft.from_campaign import first_parts, parts_of
from app.draft.machine_answers import (
    CampaignQuestion,
    DescribeQuestion,
    MachineAnswer,
    MachineQuestion,
    PostgresAnswer,
    PostgresQuestion,
    ScriptsQuestion,
    ServerQuestion,
    SupportQuestion,
    TargetQuestion,
    TrustQuestion,
)
from app.draft.servers import (
    Agreement,
    ServerConfirmation,
    agreed_names,
    agreement_problems,
    contact_problems,
    load_problems,
    server_confirmations,
)
from app.execution.resolve import ResolvedCampaign
from app.execution.run_description import describe_configuration
from app.execution.servers import OpenServer, servers_of
from app.hosts.folders.targets import CheckedTarget
from app.postgres.installations.installation import choose_installation
from app.postgres.pgbench.scale import ScaleChoice, resolve_scale
from app.storage.layout.disk_target import Support
from app.storage.spare.disks import Listing

# Determine a step's questions for this machine, and the field that shows a negative answer. Pure.


_FIELDS: Final[dict[type[FootingError], str]] = {
    SettingError: "postgresql.settings",
    InstallationError: "postgresql.installation",
    TargetError: "target",
}


_LOOKED_AT: Final = frozenset({Place.FOLDER, Place.MEMORY})
"""Places checked on the first page; disks have their own pages, a server is checked on the last one."""


def describe_question(resolved: ResolvedCampaign | None) -> DescribeQuestion | None:
    """Return the question about the helper's commands; None if no disks are used."""
    found = resolved.configurations.values() if resolved else ()
    plans = tuple(dict.fromkeys(each.target.plan for each in found if each.target.plan is not None))
    return DescribeQuestion(plans) if plans else None


def server_questions(campaign: Campaign | None) -> tuple[ServerQuestion, ...]:
    """Return a question for each server that already runs."""
    found = servers_of(campaign) if campaign is not None else {}
    return tuple(ServerQuestion(connection, ssh) for connection, ssh in found.items())


def _words(error: FootingError) -> str:
    """Return a refusal without the keys of campaign files that begin each problem of a plan."""
    if not isinstance(error, PlanError):
        return error.message
    allowed = tr("{message} Allowed: {allowed}.")
    sentence = (
        allowed.format(message=each.message, allowed=each.hint) if each.hint else each.message
        for each in error.problems
    )
    return "\n".join(dict.fromkeys(sentence))


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One state of a draft, to derive its questions.

    Attributes:
        parts: the fields.
        built: the result of building them.
        environment: of this machine.
        resolved: the campaign on this machine, if known.
    """

    parts: DraftParts
    built: ValidationResult
    environment: DraftEnvironment
    resolved: ResolvedCampaign | None = None

    def questions(self, step: Step) -> tuple[MachineQuestion, ...]:
        """Return the questions of one step, including answered ones."""
        if self.environment.account is None:
            return ()
        askers: dict[Step, Callable[[], Iterator[MachineQuestion]]] = {
            Step.WHERE: self._about_places,
            Step.DISKS: self._about_filesystems,
            Step.FILESYSTEM: self._about_filesystems,
            Step.POSTGRESQL: self._about_postgresql,
            Step.WORKLOAD: self._about_workload,
            Step.MORE: self._about_others,
            Step.REVIEW: self._about_all,
        }
        return tuple(dict.fromkeys(askers[step]()))

    def target_question(self, target: Target) -> TargetQuestion:
        """Return the question whether a place can hold the data."""
        scale = self.scale(self.built.workload) if self.built.workload else None
        return TargetQuestion(target, scale.data_bytes if scale else 0)

    def postgres_question(self) -> PostgresQuestion | None:
        """Return the question about the second page; None if something on it is wrong."""
        if self.built.postgresql is None:
            return None
        targets = tuple(dict.fromkeys(self.built.targets.values()))
        return PostgresQuestion(self.built.postgresql, self.built.workload or Workload(), targets)

    def scale(self, workload: Workload) -> ScaleChoice | None:
        """Return the scale of a workload here; None if there is none, which `CampaignQuestion` reports."""
        try:
            return resolve_scale(workload, self.environment.machine.usable_ram_bytes)
        except CampaignError:
            return None

    def refusal(self, step: Step, question: MachineQuestion, error: FootingError) -> Problem:
        """Return the machine's negative answer as a problem of the field that can change it."""
        field, message = _FIELDS.get(type(error), ""), _words(error)
        if isinstance(error, CampaignError):
            field = error.field
        match question:
            case TargetQuestion(target=FolderTarget()):
                field = "target.folder.path"
            case ServerQuestion():
                field = "target.server.connection"
            case TargetQuestion(target=MemoryTarget()):
                field = "target.memory.size"
            case CampaignQuestion(campaign=campaign) if campaign.matrix is not None:
                field = "dimension" if step is Step.MORE else field
            case CampaignQuestion(campaign=campaign) if step is Step.MORE:
                message = f"{quoted(campaign.configurations[0].name)}: {message}"
                field = self._place_in_list(campaign.configurations)
            case CampaignQuestion() if step is Step.WORKLOAD and isinstance(error, TargetError):
                field = "workload.size"
            case _:
                pass
        return Problem(field, message, error.hint)

    def _about_places(self) -> Iterator[MachineQuestion]:
        for number, each in enumerate(self.parts.chosen()):
            if each.from_where and each.place in _LOOKED_AT and number in self.built.targets:
                yield self.target_question(self.built.targets[number])

    def _about_filesystems(self) -> Iterator[MachineQuestion]:
        yield SupportQuestion()

    def _about_postgresql(self) -> Iterator[MachineQuestion]:
        question = self.postgres_question()
        if question is not None:
            yield question

    def _about_workload(self) -> Iterator[MachineQuestion]:
        yield from self.built.questions
        if not any(step_of(problem.path) is Step.WORKLOAD for problem in self.built.problems):
            yield from map(self._alone, list(self.built.configurations.values())[:1])

    def _about_others(self) -> Iterator[MachineQuestion]:
        if self.built.matrix is not None and self.built.campaign is not None:
            yield CampaignQuestion(self.built.campaign)
        elif self.built.matrix is None:
            yield from map(self._alone, list(self.built.configurations.values())[1:])

    def _about_all(self) -> Iterator[MachineQuestion]:
        if self.built.campaign is not None:
            yield TrustQuestion(self.built.campaign)
            yield CampaignQuestion(self.built.campaign)
        question = describe_question(self.resolved)
        if question is not None:
            yield question
        for each in server_questions(self.built.campaign):
            if (each.connection, each.ssh) in self.parts.contacted:
                yield each

    def _alone(self, configuration: Configuration) -> CampaignQuestion:
        """Return the question about one configuration alone, so that a negative answer refers to it."""
        seeds = self.parts.seeds
        return CampaignQuestion(Campaign(configuration.name, (configuration,), 1, seeds))

    def _place_in_list(self, configurations: Sequence[Configuration]) -> str:
        names = [each.name.strip() for each in self.parts.chosen()]
        return f"configuration[{names.index(configurations[0].name) + 1}]"


class CampaignDraft:
    """A campaign being edited.

    Attributes:
        parts: content of the fields; may be changed without notice.
        environment: of this machine; None until read.
    """

    def __init__(self, parts: DraftParts | None = None, environment: DraftEnvironment | None = None) -> None:
        self.parts = parts if parts is not None else first_parts()
        self.environment = environment
        self._answers: dict[MachineQuestion, MachineAnswer] = {}
        self._answered = 0
        self._built: tuple[tuple[str, int], ValidationResult] | None = None
        self._storage = StorageFacts()

    @classmethod
    def of(cls, campaign: Campaign, environment: DraftEnvironment | None = None) -> CampaignDraft:
        """Return a draft with the fields of a campaign."""
        return cls(parts_of(campaign), environment)

    # --- what the pages show

    @property
    def steps(self) -> tuple[Step, ...]:
        """The pages that exist now."""
        return self.parts.steps()

    @property
    def storage(self) -> StorageFacts:
        """Known facts about this machine's disks and storage support."""
        support = cast("Support | None", self._result(SupportQuestion()))
        return replace(self._storage, support=support, server_page_bytes=self._server_page_bytes())

    def _server_page_bytes(self) -> int:
        """Return the data page size of the chosen server; the usual one while unknown."""
        found = self.environment.installations if self.environment else ()
        try:
            return choose_installation(self.parts.values["postgresql.installation"], found).page_bytes
        except InstallationError:
            return USUAL_PAGE_BYTES

    @property
    def built(self) -> ValidationResult:
        """The result of building the current fields."""
        state = (repr(self.parts), self._answered)
        if self._built is None or self._built[0] != state:
            self._built = (state, build(self.parts, self._answers))
        return self._built[1]

    def problems_for(self, step: Step) -> tuple[Problem, ...]:
        """Return the problems of a step, errors before pending ones."""
        return self._problems(step, self.built)

    def blockers(self, step: Step) -> Mapping[Problem, Step]:
        """Return the problems that block a step, with the page that solves each: its own or an earlier one.

        Errors come before pending problems.
        """
        built = self.built
        pages: dict[Problem, Step] = {}
        for each in self._up_to(step):
            for problem in self._problems(each, built):
                pages.setdefault(problem, each)
        return {problem: pages[problem] for problem in sorted(pages, key=lambda each: each.pending)}

    def questions_for(self, step: Step) -> tuple[MachineQuestion, ...]:
        """Return the unanswered questions of this step and those before it."""
        inquiry = self._inquiry(self.built)
        if inquiry is None:
            return ()
        wanted = dict.fromkeys(question for each in self._up_to(step) for question in inquiry.questions(each))
        return tuple(question for question in wanted if question not in self._answers)

    def take(self, answer: MachineAnswer) -> None:
        """Store an answer; one to an obsolete question does no harm."""
        self._answers[answer.question] = answer
        self._answered += 1

    def see_disks(self, listing: Listing | None) -> None:
        """Store the current listing of disks; None until they are listed again."""
        self._storage = replace(self._storage, listing=listing)

    def see_inspection(self, results: Mapping[str, InspectionResult]) -> None:
        """Store root's answers about disks, by kernel name."""
        self._storage = replace(self._storage, inspected={**self._storage.inspected, **results})

    def forget_refusals(self) -> None:
        """Discard negative answers to ask again: folders or packages may have appeared since.

        Scripts are always read again: their files may have changed.
        """
        self._answers = {
            question: answer
            for question, answer in self._answers.items()
            if answer.error is None and not isinstance(question, ScriptsQuestion)
        }
        self._answered += 1

    def differs_in(self) -> tuple[str, ...]:
        """Return how each chosen configuration differs from the others; empty for no difference."""
        known = configuration_differences(self.built.configurations)
        return tuple(known.get(number, "") for number in range(len(self.parts.chosen())))

    # --- answers

    def checked_target(self, place: Place) -> CheckedTarget | None:
        """Return the checked folder or memory of the first page; None if unknown."""
        built = self.built
        inquiry = self._inquiry(built)
        for number, each in enumerate(self.parts.chosen()):
            if inquiry is not None and each.place is place and number in built.targets:
                return cast(
                    "CheckedTarget | None", self._result(inquiry.target_question(built.targets[number]))
                )
        return None

    def storage_plan(self, configuration: ConfigurationDraft | None = None) -> StoragePlan | None:
        """Return the plan for the disks as they are now; None if unknown.

        Args:
            configuration: of the list; None for the pages about disks.
        """
        made = configuration.made if configuration else None
        apart = configuration.wal_apart if configuration else True
        disks = self.parts.disks_of(configuration) if configuration else self.parts.disks
        target = read_target(disks, made, wal_apart=apart).target
        scale = self.scale_choice()
        if target is None or scale is None:
            return None
        return plan_of(target, self.storage.disks, scale.data_bytes)

    def drawing(self) -> tuple[DrawnGroup, ...]:
        """Return the drawing of the layout."""
        return draw(self.parts.disks, self.storage, self.partition_bytes())

    def partition_bytes(self) -> dict[Role, int | None]:
        """Return the partition size of each group of the pages about disks, if known."""
        plan = self.storage_plan()
        return {} if plan is None else {role: group.partition_bytes for role, group in plan.by_role.items()}

    def making_lines(self) -> tuple[str, ...]:
        """Return the commands that create the storage of the pages about disks; empty if unknown."""
        plan = self.storage_plan()
        return making_lines(plan, self.storage.disks) if plan else ()

    def postgres_answer(self) -> PostgresAnswer | None:
        """Return installation and settings of the second page; None if unknown."""
        inquiry = self._inquiry(self.built)
        question = inquiry.postgres_question() if inquiry else None
        return cast("PostgresAnswer | None", self._result(question))

    def resolved(self) -> ResolvedCampaign | None:
        """Return the whole campaign on this machine; None if unknown or impossible."""
        campaign = self.built.campaign
        question = CampaignQuestion(campaign) if campaign else None
        return cast("ResolvedCampaign | None", self._result(question))

    @property
    def wants_baseline(self) -> bool:
        """Whether raw storage is benchmarked before the first run on it."""
        said = self.parts.values["io_baseline"]
        return said == "true" or (not said and bool(self.parts.on_disks()))

    def ask_for_baseline(self, *, wanted: bool) -> None:
        """Store the check box of the review; the default is omitted from the campaign."""
        as_it_is = wanted == bool(self.parts.on_disks())
        self.parts.values["io_baseline"] = "" if as_it_is else "true" if wanted else "false"

    def agreement(self) -> Agreement | None:
        """Return what the user must agree to; None if unknown."""
        campaign = self.built.campaign
        return cast("Agreement | None", self._result(TrustQuestion(campaign) if campaign else None))

    def agree(self, *, agreed: bool) -> None:
        """Store the check box of the review; it applies to the list shown now."""
        agreement = self.agreement()
        self.parts.agreed = agreement.digest if agreement is not None and agreed else ""

    def agreed_digest(self) -> str:
        """Return the agreed digest if the box is ticked; else empty."""
        agreement = self.agreement()
        ticked = agreement is not None and agreement.is_open and agreement.digest == self.parts.agreed
        return self.parts.agreed if ticked else ""

    def described(self) -> Mapping[StoragePlan, tuple[str, ...]]:
        """Return the commands of the root helper, in its own words, by plan; empty if unknown."""
        question = describe_question(self.resolved())
        texts = cast("tuple[tuple[str, ...], ...] | None", self._result(question))
        return dict(zip(question.plans, texts, strict=True)) if question and texts else {}

    def scale_choice(self, size: str = "") -> ScaleChoice | None:
        """Return the scale for the third page's size, or for another size there, on this machine."""
        values = dict(self.parts.values)
        if size:
            put(values, "workload.size", size)
        built = build(replace(self.parts, values=values, dimensions=[]), self._answers)
        inquiry = self._inquiry(built)
        return inquiry.scale(built.workload) if inquiry and built.workload else None

    def to_campaign(self) -> Campaign:
        """Return the campaign.

        Raises:
            CampaignError: something is wrong or not known yet; names the first problem.
        """
        built = self.built
        if built.campaign is not None:
            return built.campaign
        problem = next(iter((*built.problems, *self.blockers(Step.REVIEW))))
        raise CampaignError(problem.message, field=problem.path, hint=problem.hint)

    def servers_to_contact(self) -> Mapping[str, str]:
        """Return the external servers not yet approved for contact, with their machines."""
        found = ((each.connection, each.ssh) for each in server_questions(self.built.campaign))
        return {connection: ssh for connection, ssh in found if (connection, ssh) not in self.parts.contacted}

    def allow_contact(self) -> None:
        """Approve contact with these servers; the user has seen the list and agreed."""
        wanted = tuple(self.servers_to_contact().items())
        self._answers = {
            question: known
            for question, known in self._answers.items()
            if not (isinstance(question, ServerQuestion) and (question.connection, question.ssh) in wanted)
        }
        self.parts.contacted += wanted

    def server_confirmations(self) -> tuple[ServerConfirmation, ...]:
        """Return the inspected external servers, with the text typed for each."""
        waiting = self.servers_to_contact()
        answers = (
            (each.connection, self._result(each))
            for each in server_questions(self.built.campaign)
            if each.connection not in waiting
        )
        found = ((name, cast("OpenServer", result)) for name, result in answers if result is not None)
        return server_confirmations(self.parts.loaded, found)

    def agreed_servers(self) -> tuple[str, ...]:
        """Return the names of the external servers that the user agreed to load."""
        return agreed_names(self.server_confirmations())

    def forget_confirmations(self) -> None:
        """Require serial numbers and server names again: the confirmed campaign has started."""
        forget_confirmations(self.parts.disks)
        self.parts.contacted = ()
        self.parts.loaded.clear()

    # --- the list of configurations

    def configuration_of(self, place: Place) -> ConfigurationDraft:
        """Return the configuration of the first page's check box for a place."""
        return next(each for each in self.parts.configurations if each.from_where and each.place is place)

    def choose_place(self, place: Place, *, ticked: bool) -> None:
        """Store a check box of the first page; spare disks replace the ticks of an unchanged first look."""
        suggested = self.parts == first_parts()
        self.configuration_of(place).chosen = ticked
        if suggested and ticked and place is Place.DISKS:
            for each in self.parts.chosen():
                each.chosen = each.place is place

    def copy_configuration(self, original: ConfigurationDraft) -> ConfigurationDraft:
        """Add a copy of a configuration under a new name after it, and return it."""
        names = {each.name.strip() for each in self.parts.configurations}
        base = original.name.strip()[:70]
        number = next(n for n in range(2, len(names) + 3) if f"{base} {n}" not in names)
        made, texts = original.made.copy() if original.made else None, dict(original.texts)
        copy = replace(
            original, name=f"{base} {number}", made=made, texts=texts, from_where=False, chosen=True
        )
        self.parts.configurations.insert(self.parts.configurations.index(original) + 1, copy)
        return copy

    def remove_configuration(self, configuration: ConfigurationDraft) -> None:
        """Remove a configuration from the list; if it is of the first page, untick it there."""
        if configuration.from_where:
            configuration.chosen = False
        else:
            self.parts.configurations.remove(configuration)

    def automatic_name(self) -> str:
        """Return the campaign's name if the user gives none."""
        matrix = self.built.matrix
        cells = [name for name, _ in matrix.configurations] if matrix else []
        return automatic_name(cells or [each.name.strip() for each in self.parts.chosen()])

    def _inquiry(self, built: ValidationResult) -> Inquiry | None:
        if self.environment is None:
            return None
        campaign = built.campaign
        resolved = self._result(CampaignQuestion(campaign)) if campaign else None
        return Inquiry(self.parts, built, self.environment, cast("ResolvedCampaign | None", resolved))

    def _result(self, question: MachineQuestion | None) -> object:
        known = self._answers.get(question) if question else None
        return known.result if known else None

    def _problems(self, step: Step, built: ValidationResult) -> tuple[Problem, ...]:
        problems = [each for each in built.problems if step_of(each.path) is step]
        problems += storage_problems(self.parts, self.storage, step)
        if step is Step.MORE and built.campaign is not None and built.matrix is not None:
            problems += cell_problems(self.parts, self.storage, built.campaign)
        inquiry = self._inquiry(built)
        if inquiry is None:
            problems.append(Problem("", tr("Checking this machine …"), pending=True))
            return tuple(problems)
        disks = inquiry.environment.disks
        if step is Step.WHERE and disks is not None and self.parts.on_disks():
            problems.append(disks)
        if inquiry.environment.account is None and step is Step.WHERE:
            problems.append(Problem("", inquiry.environment.account_sentence))
        for question in inquiry.questions(step):
            known = self._answers.get(question)
            if known is None:
                problems.append(Problem("", question.waiting, pending=True))
            elif known.error is not None and not isinstance(question, ScriptsQuestion):  # reported when built
                problems.append(inquiry.refusal(step, question, known.error))
        if step is Step.REVIEW:
            problems += confirmation_problems(self.parts, self.storage)
            problems += agreement_problems(self.agreement(), self.parts.agreed)
            problems += contact_problems(self.servers_to_contact())
            problems += load_problems(self.server_confirmations())
        once: dict[tuple[str, str], Problem] = {}
        for each in problems:
            once.setdefault((each.path, each.message), each)
        return tuple(sorted(once.values(), key=lambda problem: problem.pending))

    def _up_to(self, step: Step) -> tuple[Step, ...]:
        return tuple(each for each in self.steps if each.value <= step.value)


# --- Differences between the configurations of a draft before anything is measured, worded as for runs. Pure.


_PLACE: Final = {(TARGET, name) for name in (KIND, PATH, LABELS["size_bytes"])}
"""Properties that describe a place itself; differences are shown in addition to them."""


def configuration_differences(configurations: Mapping[int, Configuration]) -> Mapping[int, str]:
    """Return for each configuration its values of every property that is not the same in all.

    Empty if it equals the others apart from its place.
    """
    numbers = list(configurations)
    runs = [_beside_the_place(configurations[each]) for each in numbers]
    differences: dict[int, list[str]] = {number: [] for number in numbers}
    for difference in compare_properties(runs).differences:
        for variant in difference.variants:
            words = f"{difference.name} {variant.value}"
            for index in variant.runs:
                differences[numbers[index]].append(words)
    return {number: ", ".join(words) for number, words in differences.items()}


def _beside_the_place(configuration: Configuration) -> tuple[Property, ...]:
    found = properties_of(describe_configuration(configuration), None)
    return tuple(each for each in found if each.key not in _PLACE)


# Navigate the steps of a draft: forward only without obstacles, back always.


class DraftFlow:
    """The position in the wizard.

    Attributes:
        draft: the edited draft.
        step: the open page.
        furthest: the last step opened so far; steps up to it can be jumped to.
    """

    def __init__(self, draft: CampaignDraft) -> None:
        self.draft = draft
        self.step = Step.WHERE
        self.furthest = Step.WHERE

    @property
    def steps(self) -> tuple[Step, ...]:
        """The pages that exist now; those about disks depend on a check box of the first page."""
        return self.draft.steps

    @property
    def is_last(self) -> bool:
        """Whether the next button starts the campaign."""
        return self.step is self.steps[-1]

    def obstacle(self) -> Problem | None:
        """Return the first obstacle to the next step; None if there is none."""
        return next(iter(self.draft.blockers(self.step)), None)

    def page_of(self, obstacle: Problem) -> Step:
        """Return the page on which an obstacle is solved."""
        return self.draft.blockers(self.step)[obstacle]

    def reason(self) -> str:
        """Return the obstacle as a sentence for the button, with its page if that is another."""
        problem = self.obstacle()
        if problem is None:
            return ""
        page = self.page_of(problem)
        if page is self.step:
            return problem.message
        number = self.number(page)
        return tr("Page {number}: {message}").format(number=number, message=problem.message)

    def number(self, step: Step) -> int:
        """Return the number of a page, from 1."""
        return self.steps.index(step) + 1

    def advance(self) -> bool:
        """Go to the next step; return whether that was possible."""
        if self.is_last or self.obstacle() is not None:
            return False
        self._open(self.steps[self.steps.index(self.step) + 1])
        return True

    def retreat(self) -> bool:
        """Go to the previous step; return whether there is one."""
        if self.step is self.steps[0]:
            return False
        self._open(self.steps[self.steps.index(self.step) - 1])
        return True

    def may_jump(self, step: Step) -> bool:
        """Whether a step can be opened: back always, forward if the steps between are complete."""
        if step not in self.steps:
            return False
        if step.value <= self.step.value:
            return True
        before = self.steps[self.steps.index(step) - 1]
        return not self.draft.blockers(before)

    def jump(self, step: Step) -> bool:
        """Open a step; return whether that was possible."""
        if not self.may_jump(step):
            return False
        self._open(step)
        return True

    def is_complete(self, step: Step) -> bool:
        """Whether a step was visited and has no problems: it then gets a check mark."""
        return step.value < self.furthest.value and not self.draft.problems_for(step)

    def _open(self, step: Step) -> None:
        self.step = step
        if step.value > self.furthest.value:
            self.furthest = step
