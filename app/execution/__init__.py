"""Run campaigns: resolve them on this machine, take each run through its phases, stop, resume."""
