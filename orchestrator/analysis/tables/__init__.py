"""A run's tables, read from disk or from MLflow, and what all analysis makes of them first.

- ``load``: ``load_run`` reads a run, from wherever it is.
- ``files``: the tables of a run directory.
- ``mlflow_reader``: the same tables from the runs and files that MLflow has.
- ``run_tables``: ``RunTables``, the tables with the rule, the comparable groups and the configs.
"""
