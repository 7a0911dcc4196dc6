"""What happens in a run, second by second, on its way into the run file."""
