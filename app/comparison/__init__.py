"""Compare several runs: a common cut, differences, verdicts, warnings, table and figures."""
