"""Figures that are no chart over time: bars, heat map, scatter, small multiples."""
