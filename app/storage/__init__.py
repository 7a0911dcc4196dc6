"""Storage: what is there, what may be used, and how it is made and unmade; the standard library only."""
