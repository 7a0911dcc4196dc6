"""Facts about machine, storage and server for the run file."""
