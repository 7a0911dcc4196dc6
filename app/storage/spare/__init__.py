"""Whether a disk is spare: the rules, what they look at, and root's record of released disks."""
