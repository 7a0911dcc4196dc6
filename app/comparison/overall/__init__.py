"""Results beyond pairs of configurations: factors, the fastest ones, few runs."""
