"""`pgfooting recipes`, and the campaign that `pgfooting run` makes from a recipe on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from app.campaign_file.reader import CampaignFile, read_campaign_file
from app.campaign_file.recipes.adapt import (
    NamedServer,
    RecipePlaces,
    adapt_recipe,
    left_out_sentences,
    placeholders,
    server_steps,
    with_remarks,
)
from app.campaign_file.recipes.head import Recipe, RecipeHead, find_recipe, list_recipes
from app.campaign_file.writer import format_campaign
from app.cli.commands.runs.show import print_json
from app.cli.terminal.tables import print_line, print_sentence, print_table
from app.domain.campaign.configuration import Campaign
from app.domain.columns import CellKind, Column
from app.domain.errors import ExitStatus, UsageError, did_you_mean
from app.domain.text import CALLED, titled, tr
from app.hosts.folders.own_folders import server_account
from app.process.starter import CommandOutcome
from app.terminal.plain_text import print_left_out

_SUFFIX: Final = ".toml"


def _disks(recipe: Recipe) -> str:
    return str(recipe.head.disks) if recipe.head.disks else ""


RECIPE_COLUMNS: Final[tuple[Column[Recipe], ...]] = (
    Column("question", tr("Question"), lambda recipe: recipe.head.question, CellKind.WORDS),
    Column("recipe", tr("Recipe"), lambda recipe: recipe.name, CellKind.LABEL),
    Column("disks", tr("Spare disks"), _disks),
    Column(
        "server", titled(tr("server")), lambda recipe: tr("yes") if recipe.head.server else "", CellKind.LABEL
    ),
    Column("quick", tr("Quick"), lambda recipe: tr("yes") if recipe.head.quick else "", CellKind.LABEL),
    Column("summary", tr("Comparison"), lambda recipe: recipe.summary, CellKind.WORDS, optional=1),
)
"""Columns of the list of recipes."""


def recipes_command(arguments: argparse.Namespace) -> int:
    """List the recipes with their questions, or describe one."""
    console = Console()
    if arguments.recipe:
        recipe = find_recipe(arguments.recipe)
        campaign = read_campaign_file(recipe.path).campaign
        if arguments.json:
            print_json(_described(recipe, campaign))
        else:
            _print_recipe(recipe, campaign, console)
        return ExitStatus.DONE
    recipes = list_recipes()
    if arguments.json:
        print_json([_described(recipe) for recipe in recipes])
        return ExitStatus.DONE
    print_table(console, RECIPE_COLUMNS, recipes)
    print_line(console, "")
    hint = tr("“{command} recipes NAME” describes a recipe, “{command} run NAME” measures it.")
    print_line(console, hint.format(command=CALLED))
    return ExitStatus.DONE


def _described(recipe: Recipe, campaign: Campaign | None = None) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": recipe.name, "summary": recipe.summary, "path": str(recipe.path)}
    entry |= asdict(recipe.head)
    if campaign is not None:
        entry["configurations"] = [item.name for item in campaign.configurations]
        entry["server_steps"] = server_steps(recipe.name, campaign, recipe.head)
    return entry


def _print_recipe(recipe: Recipe, campaign: Campaign, console: Console) -> None:
    head = recipe.head
    print_line(console, f"{recipe.name}: {head.question}", style="bold")
    print_sentence(console, recipe.summary, indent=2)
    parts: list[tuple[str, Sequence[str]]] = [
        (tr("Source"), [head.source] if head.source else []),
        (tr("Deviations"), head.changed),
        (tr("Not included"), head.missing),
        (tr("Needs"), _needs(head, placeholders(campaign))),
        (tr("Compares"), [item.name for item in campaign.configurations]),
    ]
    if head.quick is not None:
        kept = ", ".join(head.quick.configurations)
        messages = [tr("Only {labels}.").format(labels=kept)] if kept else []
        messages.append(tr("The quick variant cannot show: {what}").format(what=head.quick.cannot_show))
        parts.append((tr("The quick variant (--quick)"), messages))
    steps = enumerate(server_steps(recipe.name, campaign, head), 1)
    numbered = [f"{at}. {step}" for at, step in steps]
    parts.append((tr("On an existing server (--server), step by step"), numbered))
    for title, sentences in parts:
        if sentences:
            print_line(console, "")
            print_line(console, title)
            for sentence in sentences:
                print_sentence(console, sentence, indent=2)
    print_line(console, "")
    print_line(console, str(recipe.path))


def _needs(head: RecipeHead, most: int) -> list[str]:
    """Return a recipe's requirements, a sentence each."""
    lines: list[str] = []
    if head.disks:
        count = str(most) if most == head.disks else tr("{low} to {high}").format(low=head.disks, high=most)
        lines.append(
            tr("Spare disks, which are erased: {count} (--disks SERIAL,SERIAL,…).").format(count=count)
        )
    if head.postgresql:
        lines.append(tr("PostgreSQL {version} or later.").format(version=head.postgresql))
    return [*lines, *head.needs]


def campaign_to_run(
    name: str, disks: str, *, quick: bool, servers: Sequence[NamedServer] = ()
) -> CampaignFile | None:
    """Return a recipe's campaign on this machine; None for a campaign file that runs unchanged.

    Skipped parts are listed on standard error.

    Args:
        name: of a recipe, or path of a campaign file.
        disks: serial numbers or WWNs, separated by commas.
        quick: use the quick variant.
        servers: existing ones, instead of everything that the recipe creates.

    Raises:
        UsageError: no such recipe, not a campaign file, the wrong disks, or it does not support servers.
        CampaignError: it cannot be read, or nothing of it can be measured here.
    """
    path = Path(name)
    is_file = "/" in name or path.suffix == _SUFFIX or path.is_file()
    if is_file and not quick and not disks and not servers:
        return None
    file = read_campaign_file(path if is_file else find_recipe(name).path)
    serials = [serial.strip() for serial in disks.split(",") if serial.strip()]
    commands: list[CommandOutcome] = []
    account = server_account(commands.append)
    places = RecipePlaces(serials, servers=servers)
    adapted = adapt_recipe(file, places, quick=quick, account=account, record=commands.append)
    for sentence in left_out_sentences(adapted.left_out):
        print_left_out(sentence)
    campaign = with_remarks(adapted, file.head, quick=quick)
    return CampaignFile(format_campaign(campaign), campaign, file.head)


def refuse_mistaken_recipe(path: Path) -> None:
    """Suggest a recipe for a campaign file that does not exist.

    Raises:
        UsageError: a recipe has a similar name.
    """
    near = did_you_mean(path.stem[:80], [recipe.name for recipe in list_recipes()])
    if near:
        message = tr("{path} does not exist. Names of recipes have no file ending.")
        raise UsageError(f"{message.format(path=path)} {near}")
