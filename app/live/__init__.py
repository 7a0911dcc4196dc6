"""A campaign and its runs, live or replayed, one snapshot at a time."""
