"""Background queries of the wizard: the machine, its disks, root."""
