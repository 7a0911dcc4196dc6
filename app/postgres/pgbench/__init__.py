"""pgbench: its arguments, output and logs; latency histograms."""
