"""Running servers that pgFooting did not start: connect, inspect, refuse, clean up."""
