"""Root's sentences by code, so that codes and values cross the bus and the journal.

`message` creates and restores them and contains the sentences, for both ends.
"""
