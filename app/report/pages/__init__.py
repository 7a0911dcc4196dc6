"""The pages of a report, each a function from what was found to blocks."""
