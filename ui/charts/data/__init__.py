"""What charts show, without widgets: registry, scales, curves of runs at several coarsenesses."""
