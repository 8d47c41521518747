"""Stages: a search and what comes before and after it, as one search.

confirm: the finalists and the baseline, run again in rounds; what the claimed speed-up rests on
interference: isolated and co-located runs of a few configs
judge: the questions to the analysis; when the confirm stage may end, and at what confidence
repeats: more runs of the best configs; a confirm stage's share of its search's core-time
sequence: phases one after the other; the ledger that they share
"""
