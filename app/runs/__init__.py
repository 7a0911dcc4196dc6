"""Runs, campaigns, run files, the library of runs, statistics over runs."""
