"""The page's sections on what the knobs do."""
