"""Inspect disks at one moment: facts, users, signatures and content."""
