"""The storage plan: as data, as plain values and on the bus, and its problems."""
