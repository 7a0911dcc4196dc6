"""One person's session: what may be asked, for how long, in a thread of its own."""
