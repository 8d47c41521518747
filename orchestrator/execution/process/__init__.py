"""Processes that train: a fork server on each node, and one forked process a rank.

forkserver: the server; imports torch and the like once, then forks
fork_servers: the servers of a node, by allocator and modules
messages: messages of a training process: shapes, and a reader that trusts nothing
fork_client: a process forked from a server, its messages and its output
ranks: cores and GPUs of each rank, and all processes of a trial
child: body of a forked process: its setup, its training and its result
failures: state and reason of a trial, from an exception
"""
