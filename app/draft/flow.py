"""Navigate the steps of a draft: forward only without obstacles, back always."""

from __future__ import annotations

from app.domain.problem import Problem
from app.domain.text import tr
from app.draft.draft import CampaignDraft
from app.draft.fields.state import Step


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
