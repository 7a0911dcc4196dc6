"""Record the events and samples of a run in the run file, every second."""
