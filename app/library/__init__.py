"""The library of runs: read, kept up to date, searched, annotated, thrown away."""
