"""Paint reports and pictures on paper: always light, independent of the window's theme."""
