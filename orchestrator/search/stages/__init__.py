"""Stages: a search with the phases before and after it, as one search.

confirm: the finalists and the baseline, run again in rounds; what the claimed speed-up rests on
interference: isolated and co-located runs of a few configs
judge: the questions to the analysis
repeats: more runs of the best configs
sequence: phases one after the other; the ledger that they share
"""
