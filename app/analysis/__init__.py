"""Analysis of one run: its properties and facts in words, its stability, its latency distribution."""
