"""What a run file says about its run: one typed description, written and read here."""
