"""Effects of the knobs, by configs that differ in one alone.

- ``figures``: one figure of many configs, with its noise.
- ``of_run``: the figures of a run, or of a table of configs.
- ``effects``: each knob by matched pairs, two together by complete 2 x 2 blocks.
- ``importance``: the knobs that a good figure depends on most.
- ``ladder``: from the baseline to another config, one knob at a time.
"""
