"""Two runs of a sweep, compared config by config."""
