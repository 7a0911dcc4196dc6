"""Foreign files become runs: grouped, put on one clock, written as run files."""
