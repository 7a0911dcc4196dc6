"""Recipes: campaign files that ship with pgFooting, found by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app import TOP

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


def _read_recipe(path: Path) -> Recipe:
    with path.open(encoding="utf-8") as file:
        first = file.readline(1000)
    return Recipe(path.stem, path, first.removeprefix("#").strip())
