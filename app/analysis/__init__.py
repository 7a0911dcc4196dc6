"""What one run says: its properties and facts in words, how steady it went, how its latencies lie."""
