"""Figures that others published, which stand beside one's own as labelled marks."""
