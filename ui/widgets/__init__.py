"""Widgets and texts that pages of the window and of the wizard share."""
