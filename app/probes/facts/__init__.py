"""Facts about machine, storage and server that a run file keeps."""
