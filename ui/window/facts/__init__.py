"""The facts panel at the right of the charts."""
