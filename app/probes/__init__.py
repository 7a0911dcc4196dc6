"""One file per source of samples, and the sampler that reads them once a second."""
