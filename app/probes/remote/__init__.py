"""Facts and samples of a server's machine that is not this one, over the user's own ssh."""
