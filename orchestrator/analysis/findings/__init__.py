"""The findings of a run, as data with their words; page, terminal and files render them."""
