"""Choose a recipe by its question: find the ticked disks or servers that it uses, and build its draft."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from app.campaign_file.reader import read_campaign_file
from app.campaign_file.recipes.adapt import (
    Adapted,
    NamedServer,
    RecipePlaces,
    adapt_recipe,
    left_out_sentences,
    server_steps,
    with_remarks,
)
from app.campaign_file.recipes.head import Recipe
from app.domain.campaign.configuration import ServerTarget
from app.domain.text import tr
from app.draft.draft import CampaignDraft
from app.draft.fields.state import ON_SERVERS, DraftParts
from app.draft.servers import refuse_programs
from app.process.starter import Account


@dataclass(frozen=True, slots=True)
class RecipeChoice:
    """A chosen recipe and its resources.

    Attributes:
        recipe: the recipe.
        quick: whether to use its quick variant.
        disks: the ticked ones, in the order of members.
        servers: ticked ones that already run.
        wants_servers: whether it is measured on them: one is ticked, no spare disks are, and the recipe
            allows it.
    """

    recipe: Recipe
    quick: bool = False
    disks: tuple[str, ...] = ()
    servers: tuple[NamedServer, ...] = ()
    wants_servers: bool = False

    @property
    def obstacle(self) -> str:
        """Why it cannot be used; empty if it can."""
        if self.wants_servers:
            return "" if self.servers else tr("Enter the connection to the server below.")
        missing = self.recipe.head.disks - len(self.disks)
        if missing <= 0:
            return ""
        message = tr(
            "Needs {least} spare disks, but {count} are ticked. Tick “Spare disks” below, select them on "
            "the next page, and come back."
        )
        sentence = message.format(least=self.recipe.head.disks, count=len(self.disks))
        if self.recipe.head.server is None:
            return sentence
        other = tr("Or tick “An existing PostgreSQL server” to measure its existing filesystem.")
        return f"{sentence} {other}"

    @property
    def description(self) -> str:
        """The comparison, its storage, and what a quick variant cannot show."""
        head = self.recipe.head
        sentences = [self.recipe.summary]
        if head.source:
            sentences.append(tr("Source: {source}").format(source=head.source.rstrip(".")) + ".")
        if self.quick and head.quick is not None:
            sentences.append(tr("The quick variant cannot show: {what}").format(what=head.quick.cannot_show))
        return " ".join(sentences)

    @property
    def steps(self) -> tuple[str, ...]:
        """Preparations by the owner of a server, step by step; empty if it is not measured on one."""
        return _steps(self.recipe) if self.wants_servers else ()


@cache
def _steps(recipe: Recipe) -> tuple[str, ...]:
    return server_steps(recipe.name, read_campaign_file(recipe.path).campaign, recipe.head)


def recipe_choice(draft: CampaignDraft, recipe: Recipe, *, quick: bool) -> RecipeChoice:
    """Return the resources that a recipe would use: those ticked in a draft.

    Args:
        draft: of the wizard.
        recipe: the recipe.
        quick: whether to use its quick variant, if it has one.
    """
    parts = draft.parts
    chosen, targets = parts.chosen(), draft.built.targets
    servers = (
        NamedServer(each.name, target)
        for at, each in enumerate(chosen)
        if each.place in ON_SERVERS and isinstance(target := targets.get(at), ServerTarget)
    )
    return RecipeChoice(
        recipe,
        quick and recipe.head.quick is not None,
        ticked_disks(parts),
        tuple(servers),
        wants_servers=bool(parts.on_servers()) and not parts.on_disks() and recipe.head.server is not None,
    )


def ticked_disks(parts: DraftParts) -> tuple[str, ...]:
    """Return the disks chosen on the page about disks, those for data first."""
    return tuple(dict.fromkeys(parts.disks.chosen))


def draft_of_recipe(choice: RecipeChoice, account: Account) -> tuple[CampaignDraft, tuple[str, ...]]:
    """Return a draft with the fields of a recipe, and sentences on the parts this machine cannot measure.

    Args:
        choice: disks beyond those that the recipe uses are ignored.
        account: runs the server.

    Raises:
        UsageError: it needs other disks.
        CampaignError: nothing of it can be measured here.
        InstallationError: there is no usable PostgreSQL.
    """
    file = read_campaign_file(choice.recipe.path)
    refuse_programs(file)
    servers = choice.servers if choice.wants_servers else ()
    disks = choice.disks if choice.recipe.head.disks and not servers else ()
    places = RecipePlaces(disks, most_used=True, servers=servers)
    adapted: Adapted = adapt_recipe(file, places, quick=choice.quick, account=account)
    # The limits of a quick variant are dropped: its fields may be changed, which would make them wrong.
    return CampaignDraft.of(with_remarks(adapted, file.head, quick=False)), left_out_sentences(
        adapted.left_out
    )
