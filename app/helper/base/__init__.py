"""Shared parts of the helper: its folders, its configuration, the system's log."""
