"""The way back of what a session signed: looked at, proven to be ours, saved, wiped by one descriptor."""
