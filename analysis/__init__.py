"""From a sweep's tables to an answer: the front, the config to use, the report.

    from analysis.recommendation.recommend import recommend
    from analysis.tables.load import load_run

    tables = load_run("runs/products_loader/20261121-090000")
    print(recommend(tables).why)

No module imports a trainable, Ray or torch. Each folder rests on those below it:

- ``__main__.py``: the command line.
- ``report/``: pages, pictures, the terminal.
- ``comparison/``: two runs, or two versions of something.
- ``bottlenecks/``: what limits the rate.
- ``recommendation/``: the config to use, how much faster it is, and how sure that is.
- ``tables/``: a run's tables, from disk or MLflow.
- ``composition/``: figures of configs that were not trained end to end.
- ``statistics/``: numbers from tables, without an opinion.
- ``columns.py``: the trials table's columns and cells; a row's config.
- ``comparable.py``: groups of rows that may be ranked together.
- ``rule.py``: the rule that a config is recommended by.
- ``derived.py``: figures to a target, as the whole run tells them.
- ``rule_words.py``: that rule in words.
- ``wording.py``: figures and knobs in sentences.
"""
