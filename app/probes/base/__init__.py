"""Shared by probes and facts: protocol, fact tree, mounts, devices, external programs."""
