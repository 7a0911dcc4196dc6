"""What runs say beyond one configuration against the first: factors, the fastest ones, few runs."""
