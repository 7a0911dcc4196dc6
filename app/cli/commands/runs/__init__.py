"""Commands for existing runs: show, compare, export, report."""
