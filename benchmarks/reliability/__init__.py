"""Reliability campaigns: faults made on purpose, many times, and what is lost by them.

kills/: processes of a sweep killed at random moments
places/: situations that people run in: odd folders, variables, limits, streams, signals
tracking_uris/: tracking URIs that hold a secret, and where it is seen
mlflow_servers/: servers in MLflow's place that fail, at the start, midway and at the end
bad_requests/: bad requests, and whether each is refused in one message
bad_trainables/: training functions that misbehave, and what one costs the others
damaged_data/: damages of data folders, and whether each is refused with the file's name
damaged_runs: damages of run directories, and what is lost by them
file_systems: file systems that are full, read-only or emptied, and what is lost by them
ray_tune/: functions and spaces through plain Ray Tune and through from_ray
damages: the damages of a file
table: the table of a campaign, and its counts
leaks: what a sweep has left behind: processes, and files in the temporary folders
forked: a command in a process forked from this one
made_trials: trials without processes, for what a driver does
toy_sweep: the sweep whose processes are killed
uri_sweep: a sweep without Ray, for tracking URIs and places
"""
