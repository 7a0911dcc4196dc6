"""Charts stacked on one time axis, with crosshair, menus and saving."""
