"""Processes that train: a fork server on each node, and one forked process a rank.

forkserver: the server; imports torch and the like once, then forks
fork_servers: the servers of a node, by allocator and modules
fork_client: a process forked from a server, as its supervisor has it
ranks: cores and GPUs of each rank, and the request that starts it
rank_group: the processes of all ranks of a trial
messages: messages from a training process, and the end of its output
child: body of a forked process: trains, then sends its result
setup: its output, environment, signals and cores
pipe_channel: its end of the pipe to the supervisor
failures: state and reason of a trial, from an exception
"""
