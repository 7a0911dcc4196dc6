"""A campaign and its runs while they last, or replayed: one look at a time."""
