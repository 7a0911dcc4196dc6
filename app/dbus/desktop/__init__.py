"""Optional desktop services on the session bus."""
