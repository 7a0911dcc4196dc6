"""Folders of runs: reached by descriptor, examined, made and deleted as the account that owns them."""
