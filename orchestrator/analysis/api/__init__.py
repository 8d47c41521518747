"""Functions of ``import orchestrator.analysis as an``, from a run or a frame to a frame.

runs: load a run, its columns, its configs
fronts: the front
knobs: what each knob does
training: time to accuracy and goodput
scaling: speed over a knob
answers: the recommendation
comparing: two runs compared
files: export
meanings: unit and meaning of each column
checks: what a function was given, refused by name
plot: the report's figures
"""
