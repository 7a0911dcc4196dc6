"""The library of runs: read, update, search, annotate, delete."""
