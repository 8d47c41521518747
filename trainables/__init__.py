"""Training functions, their knobs and their data."""
