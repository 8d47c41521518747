"""What two configs differ by from round to round, in turns and one after another."""
