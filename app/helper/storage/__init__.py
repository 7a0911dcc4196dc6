"""Parts of made storage: disk locks, plans, journal, ownership, control groups, leftovers."""
