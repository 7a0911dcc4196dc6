"""Recipes: campaign files that ship with pgFooting, found by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app import TOP
from app.campaign_file.problems import printable
from app.campaign_file.reader import load_campaign
from app.domain.campaign.configuration import Campaign
from app.domain.errors import UsageError, did_you_mean
from app.domain.text import tr

RECIPES: Final = TOP / "resources" / "recipes"

DEFAULT_RECIPE: Final = "quick"
"""What is run where nothing is asked for."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A campaign file that ships with pgFooting.

    Attributes:
        name: the file's name without its ending.
        path: the file.
        summary: its first line, a sentence or a question.
    """

    name: str
    path: Path
    summary: str


def list_recipes(folder: Path = RECIPES) -> tuple[Recipe, ...]:
    """Return all recipes by name, the default one first.

    Args:
        folder: where they are.
    """
    recipes = [_read_recipe(path) for path in sorted(folder.glob("*.toml"))]
    return tuple(sorted(recipes, key=lambda recipe: (recipe.name != DEFAULT_RECIPE, recipe.name)))


def find_recipe(name: str, folder: Path = RECIPES) -> Recipe:
    """Return the recipe of that name.

    Raises:
        UsageError: there is none; the message lists those that exist.
    """
    recipes = {recipe.name: recipe for recipe in list_recipes(folder)}
    if name in recipes:
        return recipes[name]
    message = tr("There is no recipe “{name}”; there are {known}.")
    known = ", ".join(recipes) or tr("none")
    raise UsageError(message.format(name=printable(name), known=known), hint=did_you_mean(name[:80], recipes))


def load_recipe(name: str, folder: Path = RECIPES) -> Campaign:
    """Return the campaign of the recipe of that name.

    Raises:
        UsageError: there is no such recipe.
        CampaignError: its file is wrong.
    """
    return load_campaign(find_recipe(name, folder).path)


def _read_recipe(path: Path) -> Recipe:
    with path.open(encoding="utf-8") as file:
        first = file.readline(1000)
    return Recipe(path.stem, path, first.removeprefix("#").strip())
