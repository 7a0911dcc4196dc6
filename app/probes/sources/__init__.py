"""One module for each source of samples and events."""
