"""One file per source of samples (registry.py lists them), and the sampler that reads them once a second."""
