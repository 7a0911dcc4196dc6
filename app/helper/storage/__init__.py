"""What the helper makes and unmakes: disk locks, plans, journal, ownership, control groups, leftovers."""
