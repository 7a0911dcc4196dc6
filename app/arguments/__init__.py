"""The command line: what may be typed, what is told of what may not, and completion in shells."""
