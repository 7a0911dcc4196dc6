"""The I/O baseline of a campaign: where it is measured, how, and which runs share it."""
