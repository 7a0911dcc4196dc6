"""What can be chosen about a filesystem or an array: options, RAID levels, what goes together."""
