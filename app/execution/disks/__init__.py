"""Spare disks of a campaign: asked for, held, and given back."""
