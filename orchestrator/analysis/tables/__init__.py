"""A run's tables, read from disk or from MLflow, and the tables derived from them."""
