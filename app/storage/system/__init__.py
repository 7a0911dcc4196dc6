"""The machine below the storage: programs, kernel log, state of devices, bounded waiting."""
