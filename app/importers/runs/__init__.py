"""Turn foreign files into runs: group them, put them on one clock, write run files."""
