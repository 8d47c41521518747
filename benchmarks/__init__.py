"""Ours against what a user would run instead, side by side in one run."""
