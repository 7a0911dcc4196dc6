"""A recipe chosen by its question: which of the ticked disks it takes, and what becomes of it here."""

from __future__ import annotations

from dataclasses import dataclass

from app.campaign_file.reader import read_campaign_file
from app.campaign_file.recipes.adapt import Adapted, left_out_sentences, with_remarks
from app.campaign_file.recipes.find import Recipe
from app.campaign_file.recipes.left_out import adapt_recipe
from app.domain.text import tr
from app.draft.draft import CampaignDraft
from app.draft.fields.state import DraftParts
from app.draft.trust import refuse_programs
from app.process.starter import Account


@dataclass(frozen=True, slots=True)
class RecipeChoice:
    """What somebody wants of a recipe.

    Attributes:
        recipe: which one.
        quick: its quick variant.
        disks: those that are ticked, in the order of members.
    """

    recipe: Recipe
    quick: bool = False
    disks: tuple[str, ...] = ()

    @property
    def obstacle(self) -> str:
        """Why it cannot be taken; empty where it can."""
        missing = self.recipe.head.disks - len(self.disks)
        if missing <= 0:
            return ""
        message = tr(
            "Spare disks wanted: {least}, ticked: {count}. Tick “Spare disks” below, choose them on the "
            "next page, and come back."
        )
        return message.format(least=self.recipe.head.disks, count=len(self.disks))

    @property
    def description(self) -> str:
        """What is compared, on what, and what a quick variant cannot show."""
        head = self.recipe.head
        told = [self.recipe.summary]
        if head.source:
            told.append(tr("Source: {source}.").format(source=head.source.rstrip(".")))
        if self.quick and head.quick is not None:
            told.append(tr("What the quick variant cannot show: {what}").format(what=head.quick.cannot_show))
        return " ".join(told)


def ticked_disks(parts: DraftParts) -> tuple[str, ...]:
    """Return the disks that are chosen on the page about disks, those for data first."""
    return tuple(dict.fromkeys(parts.disks.chosen))


def draft_of_recipe(choice: RecipeChoice, account: Account) -> tuple[CampaignDraft, tuple[str, ...]]:
    """Return a draft with the fields of a recipe, and sentences on what this machine cannot measure of it.

    Args:
        choice: what is wanted; more disks than the recipe has places for are not used.
        account: who will run the server.

    Raises:
        UsageError: it wants other disks.
        CampaignError: nothing of it can be measured here.
        InstallationError: no PostgreSQL that can be used.
    """
    file = read_campaign_file(choice.recipe.path)
    refuse_programs(file)
    disks = choice.disks if choice.recipe.head.disks else ()
    adapted: Adapted = adapt_recipe(file, disks, quick=choice.quick, account=account, most_used=True)
    # What a quick variant cannot show is not kept: its fields may be changed, and then it would be wrong.
    return CampaignDraft.of(with_remarks(adapted, file.head, quick=False)), left_out_sentences(
        adapted.left_out
    )
