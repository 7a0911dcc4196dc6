"""Metadata of a run file: one typed description, written and read here."""
