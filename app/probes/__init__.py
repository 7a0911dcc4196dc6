"""Sources of samples, one file each, and the sampler that reads them every second."""
