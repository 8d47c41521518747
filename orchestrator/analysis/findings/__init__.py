"""What a run shows: found once, as data with its words; page, terminal and files render it."""
