"""The kernel: a search asks, an executor runs, every fact is an event. It knows no feature.

A feature is an adapter of one of three kinds: a *stage* is a search around a search, an *executor*
runs trials, a *fold* is a view made of events.

search: the base classes of a search and of its specification; proposals
problem: what a search starts from; distinct configs that are known before anything has run
executor: the base class of an executor; launches, and the conductor of one
events: the events of a sweep, and their one codec
journal: the append-only file that every event is written to first; which reports are kept
parts: inputs of the loop: the sweep's trials, a gate, folds; a user's tracker
loop: the one control loop
"""
