"""How programs are started: as an account, bounded, tied to this process's life."""
