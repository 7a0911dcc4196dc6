"""Campaign files: every key with its kind, reading with all problems at once, writing, trust, recipes."""
