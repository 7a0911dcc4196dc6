"""Campaigns in the window: start, follow, stop at closing."""
