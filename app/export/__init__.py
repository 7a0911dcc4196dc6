"""Export of runs and comparisons to CSV and JSON, optionally anonymised."""
