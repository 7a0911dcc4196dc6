"""Run files from elsewhere, and actions on those of the library."""
