"""Long and large runs: what the driver takes, and how soon MLflow and a resumption are done.

watched: a driver's run, watched from outside
reporting: a sweep whose trials report at a rate
"""
