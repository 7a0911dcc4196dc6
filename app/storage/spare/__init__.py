"""Decide whether a disk is spare: rules, their inputs, and root's record of released disks."""
