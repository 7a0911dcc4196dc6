"""The base of wizard pages, and the help panel."""
