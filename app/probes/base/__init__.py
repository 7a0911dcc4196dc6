"""What probes and facts share: the protocol, facts as a tree, mounts, devices, other programs."""
