"""Quote foreign text for pasting: no part of it is executed."""
