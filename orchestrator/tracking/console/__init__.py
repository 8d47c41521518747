"""The console: the events of a sweep as lines, and on a terminal a live view below them."""
