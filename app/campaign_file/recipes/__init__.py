"""Recipes: campaign files with a head that says which question they answer."""
