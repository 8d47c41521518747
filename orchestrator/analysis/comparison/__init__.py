"""Two runs of a sweep, or several pairs of runs, compared config by config."""
