"""The library panel on the left: rows, search, reading in the background."""
