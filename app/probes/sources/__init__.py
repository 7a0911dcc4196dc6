"""The sources of samples and events, one module each."""
