"""Find what would spoil a measurement, before it starts."""
