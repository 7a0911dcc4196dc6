"""Races of saved runs: one clock, a leader board, and a slide with the verdict."""
