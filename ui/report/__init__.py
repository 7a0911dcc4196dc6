"""Painting of reports and pictures on paper: always light, whatever the window's theme."""
