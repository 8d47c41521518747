"""The report: a page with everything in it, its files, and the tables on the terminal."""
