"""The fields of the wizard's pages, as typed, and what turns them into values."""
