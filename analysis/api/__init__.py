"""What ``import analysis as an`` gives: functions from a run, or a frame, to a frame.

runs: load a run, its columns, its configs
fronts: the front and what it dominates
knobs: what each knob does
training: time to accuracy, goodput, scaling
answers: the recommendation; two runs compared
files: export
plot: the report's figures
"""
