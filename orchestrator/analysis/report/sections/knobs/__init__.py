"""The page's sections on what the knobs do.

ladder: from the baseline to the recommended config, a knob a step
effects: each knob by matched pairs
interactions: two knobs together
importance: the knobs that matter most
outcomes: what was shown, as words with a symbol and as figures
forest: effects with their intervals, drawn
"""
