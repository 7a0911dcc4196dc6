"""Run files from elsewhere, and what people do with those of the library."""
