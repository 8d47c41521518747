"""Stages: a search and what comes before and after it, as one search.

allowance: a confirm stage's share of the core-time of its search
confirm: the finalists and the baseline, run again in rounds; what the claimed speed-up rests on
end_to_end: one more config of a composed front, trained whole
interference: isolated and co-located runs of a few configs
interim_analyses: when the confirm stage may end, and the confidence that each analysis costs
interleaving: the decision for each round whether its runs share their cores in time slices
judge: the questions that the stages ask of the analysis
repeats: more runs of the best config and its contenders
sequence: phases one after the other; the ledger that they share
"""
