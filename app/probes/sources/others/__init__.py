"""What others do to the machine while a run is measured: swap, heat, frequency, their I/O, maintenance."""
