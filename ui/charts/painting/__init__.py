"""Painting of a chart's pieces in pixels."""
