"""A storage plan becomes steps with their commands, and the exact reverse."""
