"""Statistics over runs and within them: intervals, verdicts, sample sizes. Pure."""
