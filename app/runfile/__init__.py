"""Run files: their format, writing, reading, and the figures and series computed from them."""
