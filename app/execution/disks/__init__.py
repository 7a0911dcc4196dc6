"""Spare disks of a campaign: requested, held, and released."""
