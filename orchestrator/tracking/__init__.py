"""Who hears of a sweep's events after the journal: the console and MLflow."""
