"""The campaign: target, PostgreSQL and workload of each configuration."""
