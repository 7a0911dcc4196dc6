"""Shared by the commands: tables, progress, questions to the user."""
