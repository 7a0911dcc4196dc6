"""Figures other than charts over time: bars, heat map, small multiples."""
