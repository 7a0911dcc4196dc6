"""Checks around a step: its conditions, the disk it writes to, and what it created."""
