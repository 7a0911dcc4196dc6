"""Who executes a plan: this user (local), later the root helper and a server that already runs."""
