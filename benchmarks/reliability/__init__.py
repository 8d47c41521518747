"""Reliability campaigns: faults made on purpose, many times, and what is lost by them.

table: the table of a campaign, and its counts
kills: processes of a sweep killed at random moments
rounds: a command of a sweep, with its kills
victims: the processes of a running sweep, by what they do
leaks: what a sweep has left behind: processes, and files in the temporary folders
toy_sweep: the sweep whose processes are killed
tracking_uris: tracking URIs that hold a secret, and where it is seen
uri_forms: forms of such URIs
uri_sweep: the sweep that they are given to
places: situations that people run in: odd folders, variables, limits, streams, signals
situations: their list
bad_requests: bad requests, and whether each is refused in one message
request_cases: the bad requests: options, sweep files, trainables, data sets
request_files: sweep files that are no text, that fail, or that misbehave while they run
request_classes: config classes and fields of sweeps and trainables
request_paths: paths for each option that takes one, and options together
request_commands: requests to train, init, clean and the analysis
damaged_data: damages of data folders, and whether each is refused with the file's name
damaged_runs: damages of run directories, and what is lost by them
damages: the damages of a file
set_damages: damages of whole sets of graphs
image_damages: damages of whole sets of images
set_changes: the makers of these
data_sets: small sets in each layout that trainables read
file_systems: file systems that are full, read-only or emptied, and what is lost by them
bad_trainables: training functions that misbehave, and what one costs the others
misbehaving_sweep: the sweep that has a config for each
misbehaviour: the ways to misbehave, and how each may end
misdeeds: what is done in them
forked: a command in a process forked from this one
made_trials: trials without processes, for what a driver does
ray_tune/: functions and spaces through plain Ray Tune and through from_ray
"""
