"""What is to be made of which disks: as data, as plain values and on the bus, and what is wrong with it."""
