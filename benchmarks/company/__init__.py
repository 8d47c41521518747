"""How well the check of company tells what company does."""
