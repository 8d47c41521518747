"""Bad requests, and whether each is refused in one message.

__main__: the campaign
cases: options, sweep files, trainables, data sets
files: sweep files that are no text, that fail, or that misbehave while they run
classes: config classes and fields of sweeps and trainables
paths: paths for each option that takes one, and options together
commands: requests to train, init, clean and the analysis
odd: options, sweeps and resumptions that are hostile, or typed in haste
"""
