"""Saved runs that race: one clock, a leader board, and a slide with the verdict."""
