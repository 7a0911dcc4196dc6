"""The fields of the wizard's pages, as typed, and their conversion to values."""
