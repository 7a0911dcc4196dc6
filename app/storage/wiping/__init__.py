"""Undo the signatures of a session: inspected, proven to be ours, saved, wiped by one descriptor."""
