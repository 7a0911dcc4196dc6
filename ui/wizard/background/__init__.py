"""What the wizard asks in the background: the machine, its disks, root."""
