"""Runs and comparisons for other programs: CSV, JSON, with names taken out where asked."""
