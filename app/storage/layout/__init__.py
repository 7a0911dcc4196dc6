"""Turn a storage plan into steps with their commands, and their exact reverse."""
