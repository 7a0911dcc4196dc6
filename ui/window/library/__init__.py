"""The library panel at the left: rows, search, reading in the background."""
