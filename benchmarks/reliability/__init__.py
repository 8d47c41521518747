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
"""
