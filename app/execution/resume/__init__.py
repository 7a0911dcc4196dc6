"""Continue a started campaign: its done runs, changes since, its missing runs."""
