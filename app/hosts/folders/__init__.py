"""Folders of runs: reached by descriptor, looked at, made and deleted as the account that owns them."""
