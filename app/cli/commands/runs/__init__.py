"""What is done with runs that exist: shown, compared, written elsewhere."""
