"""A user's session: its requests, its lifetime, and its work in a separate thread."""
