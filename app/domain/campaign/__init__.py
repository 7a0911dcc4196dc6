"""What is measured: target, PostgreSQL and workload of each configuration of a campaign."""
