"""A run's tables, read from disk or from MLflow, and the tables derived from them.

- ``load``: ``load_run`` reads a run, from a directory or from MLflow.
- ``mlflow_reader``: the same tables from MLflow's runs and files.
- ``run_tables``: ``RunTables``, the tables with the rule, the comparable groups and the configs.
"""
