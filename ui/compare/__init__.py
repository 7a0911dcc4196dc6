"""The compare page: several runs in overlays, side by side, and with verdicts."""
