"""The commands of the window, and their menus and buttons."""
