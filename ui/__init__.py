"""The window: Qt only; never imported by app."""
