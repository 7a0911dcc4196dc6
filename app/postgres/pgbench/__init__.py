"""pgbench: its arguments, what it prints and logs, latencies as histograms."""
