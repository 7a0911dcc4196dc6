"""Foreign files and archives, opened and read in bounded pieces."""
