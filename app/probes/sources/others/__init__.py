"""Outside activity during a run: swap, heat, frequency, foreign I/O, maintenance."""
