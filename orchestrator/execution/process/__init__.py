"""Processes that train: a fork server on each node, and one forked process a rank.

forkserver: the server; imports torch and the like once, then forks
fork_client: a node's servers and their processes, as a supervisor uses them
ranks: cores and GPUs of each rank, and the processes of all ranks of a trial
messages: messages from a training process, and the end of its output
child: body of a forked process: trains, then sends its result
setup: its output, environment, signals and cores
pipe_channel: its end of the pipe to the supervisor
failures: state and reason of a trial, from an exception
"""
