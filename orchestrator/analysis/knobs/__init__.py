"""Effects of the knobs, by configs that differ in one alone."""
