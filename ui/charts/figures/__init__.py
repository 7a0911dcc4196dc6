"""Figures other than charts over time: bars, heat map, scatter, small multiples."""
