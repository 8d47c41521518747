"""Processes that train: a fork server on each node, and one forked process a rank.

forkserver: the server; imports torch and the like once, then forks
fork_servers: the servers of a node, by allocator and modules
leftovers: what trials have started and what outlives them, ended
fork_client: a process forked from a server, as its supervisor sees it
ranks: cores and GPUs of each rank, the request that starts it, and all processes of a trial
messages: messages from a training process
output: what a trial has printed, its beginning and its end
child: body of a forked process: its setup, its training and its result
failures: state and reason of a trial, from an exception
"""
