"""Read and write campaign files: every key with its kind, all problems at once, trust, recipes."""
