"""Chart data without widgets: registry, scales, curves of runs at several resolutions."""
