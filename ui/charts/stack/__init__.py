"""Charts below each other on one time axis, their crosshair, menus and saving."""
