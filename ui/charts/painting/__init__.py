"""Paint the parts of a chart in pixels."""
