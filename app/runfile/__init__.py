"""Run files: their format, writing, reading, the figures and series computed from them."""
