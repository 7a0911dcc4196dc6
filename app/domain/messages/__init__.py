"""What root tells people: sentences by code, so that codes and values cross the bus and the journal.

`message` makes and restores them, `storage` and `spare` hold the sentences, one place for both ends.
`retelling` finds sentences again that a file holds in English.
"""
