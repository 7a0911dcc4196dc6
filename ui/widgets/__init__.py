"""Widgets and texts shared by the pages of the window and of the wizard."""
