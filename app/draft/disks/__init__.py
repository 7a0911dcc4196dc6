"""Spare disks in the wizard: the table of disks, levels, filesystems, options, layout, confirmation."""
