"""Going through the steps of a draft: forward only where nothing speaks against it, back always."""

from __future__ import annotations

from app.domain.problem import Problem
from app.domain.text import tr
from app.draft.draft import CampaignDraft
from app.draft.fields.state import Step


class DraftFlow:
    """Where somebody is in the wizard.

    Attributes:
        draft: what is put together.
        step: the page that is open.
        furthest: the last step that was open; those up to here can be jumped to.
    """

    def __init__(self, draft: CampaignDraft) -> None:
        self.draft = draft
        self.step = Step.WHERE
        self.furthest = Step.WHERE

    @property
    def steps(self) -> tuple[Step, ...]:
        """The pages that there are; those about disks come and go with their tick on the first page."""
        return self.draft.steps

    @property
    def is_last(self) -> bool:
        """Whether going on means to start."""
        return self.step is self.steps[-1]

    def obstacle(self) -> Problem | None:
        """Return the first reason why one cannot go on; None where one can."""
        return next(iter(self.draft.blockers(self.step)), None)

    def page_of(self, obstacle: Problem) -> Step:
        """Return the page on which an obstacle is solved."""
        return self.draft.blockers(self.step)[obstacle]

    def reason(self) -> str:
        """Return the obstacle as a sentence beside the button, with its page where that is another."""
        problem = self.obstacle()
        if problem is None:
            return ""
        page = self.page_of(problem)
        if page is self.step:
            return problem.message
        number = self.number(page)
        return tr("Page {number}: {message}").format(number=number, message=problem.message)

    def number(self, step: Step) -> int:
        """Return the place of a page among those that there are, from 1."""
        return self.steps.index(step) + 1

    def advance(self) -> bool:
        """Go to the next step; return whether that was possible."""
        if self.is_last or self.obstacle() is not None:
            return False
        self._open(self.steps[self.steps.index(self.step) + 1])
        return True

    def retreat(self) -> bool:
        """Go to the step before; return whether there is one."""
        if self.step is self.steps[0]:
            return False
        self._open(self.steps[self.steps.index(self.step) - 1])
        return True

    def may_jump(self, step: Step) -> bool:
        """Whether a step can be opened: back always, forward over steps that are complete as they are."""
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
        """Whether a step was seen and nothing is wrong with it: it gets its tick."""
        return step.value < self.furthest.value and not self.draft.problems_for(step)

    def _open(self, step: Step) -> None:
        self.step = step
        if step.value > self.furthest.value:
            self.furthest = step
