"""A matrix in the wizard: dimensions made by ticking values, cells, and what they come to."""
