"""Processes of a sweep, killed at random moments.

__main__: the campaign
rounds: a command of a sweep, with its kills
victims: the processes of a running sweep, by what they do
"""
