"""Choices about a filesystem or an array: options, RAID levels, conflicts between them."""
