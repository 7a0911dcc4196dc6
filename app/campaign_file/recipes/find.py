"""Recipes that ship with pgFooting, found by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app import TOP
from app.campaign_file.problems import printable
from app.campaign_file.recipes.head import RecipeHead, parse_head
from app.domain.errors import UsageError, did_you_mean
from app.domain.text import CALLED, tr

RECIPES: Final = TOP / "resources" / "recipes"

DEFAULT_RECIPE: Final = "quick"
"""What is run where nothing is asked for."""

EXAMPLE: Final = "example"
"""How the names of those begin that explain keys."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A campaign file that ships with pgFooting.

    Attributes:
        name: the file's name without its ending.
        path: the file.
        summary: its first line, a sentence or a question, in the user's language.
        head: which question it answers, what the quick variant cannot show and what is made on a server
            that already runs, in the user's language, and what it takes.
    """

    name: str
    path: Path
    summary: str
    head: RecipeHead


def list_recipes(folder: Path = RECIPES) -> tuple[Recipe, ...]:
    """Return all recipes by question and name, the default one first, those that explain keys last.

    Args:
        folder: where they are.
    """
    recipes = list(map(_read_recipe, folder.glob("*.toml")))
    return tuple(sorted(recipes, key=_turn))


def find_recipe(name: str, folder: Path = RECIPES) -> Recipe:
    """Return the recipe of a name.

    Args:
        name: as somebody typed it.
        folder: where they are.

    Raises:
        UsageError: there is none of that name; says which one may be meant.
    """
    recipes = {each.name: each for each in list_recipes(folder)}
    if name in recipes:
        return recipes[name]
    message = tr("There is no recipe “{name}”.").format(name=printable(name))
    near = did_you_mean(name[:80], recipes)
    hint = tr("“{command} recipes” lists them; a campaign file is named with its ending, .toml.")
    raise UsageError(f"{message} {near}".rstrip(), hint=hint.format(command=CALLED))


def _turn(recipe: Recipe) -> tuple[bool, bool, bool, str, str]:
    """Return a key: the default one, folders, spare disks, and last of all what only explains."""
    head = recipe.head
    explains = recipe.name.startswith(EXAMPLE)
    return recipe.name != DEFAULT_RECIPE, explains, head.disks > 0, head.question, recipe.name


def _read_recipe(path: Path) -> Recipe:
    text = path.read_text(encoding="utf-8")
    summary = text.partition("\n")[0].removeprefix("#").strip()
    head = parse_head(text) or RecipeHead(question=summary)
    quick = head.quick and replace(head.quick, cannot_show=tr(head.quick.cannot_show))
    server = head.server and replace(head.server, prepare=tuple(map(tr, head.server.prepare)))
    told = replace(head, question=tr(head.question), quick=quick, server=server)
    return Recipe(path.stem, path, tr(summary), told)
