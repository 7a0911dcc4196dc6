"""What a desktop offers on the bus of a session; whoever has none misses nothing."""
