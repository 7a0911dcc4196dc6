"""The commands of the window, and what shows them."""
