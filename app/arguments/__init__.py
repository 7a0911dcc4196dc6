"""The command line: its options, messages for mistakes, and completion in shells."""
