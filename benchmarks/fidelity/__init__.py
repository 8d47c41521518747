"""Whether a config's throughput is the same figure in every run of it."""
