"""Space of a sweep: the knobs of a trainable, and the values that they may have."""
