"""What a user would write instead, as well as the libraries' own documentation has it."""
