"""Recipes: campaign files with a head that states the question they answer."""
