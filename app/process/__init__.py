"""Start programs as an account, bounded, tied to this process's life."""
