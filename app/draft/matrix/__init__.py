"""The matrix of the wizard: dimensions from ticked values, cells, and the total cost."""
