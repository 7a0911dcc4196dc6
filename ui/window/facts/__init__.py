"""The facts panel to the right of the charts."""
