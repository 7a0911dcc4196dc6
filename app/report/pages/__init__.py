"""The pages of a report, each a function from findings to blocks."""
