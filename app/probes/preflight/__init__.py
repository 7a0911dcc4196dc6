"""What would spoil a measurement, found before it starts."""
