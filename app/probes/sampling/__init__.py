"""The registry of probes, and the sampler that reads them once a second."""
