"""A sweep and a trainable to begin with, and the command that writes them."""
