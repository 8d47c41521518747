"""Numbers from tables, without an opinion."""
