"""The Ray executor: trials as actors under Ray Tune, on this machine or on a cluster."""
