"""The Ray executor: trials as actors under Ray Tune, on this machine or on a cluster.

executor: RayExecutor, which starts or joins Ray and runs a sweep
connection: settings, connecting, nodes, shutting down
local_ray: a private Ray of the driver's, on the loopback interface
apart: calls of Ray in a thread, which Ray could hold for ever
watchdog: whether the processes of Ray that a sweep needs are alive
runtime_env: code and authentication token for an existing cluster
node_servers: fork servers of each node
node_checks: checks of each node of a cluster before the first trial
tuner: one Tuner a sweep, and Tune's searcher, scheduler and stopper as thin adapters
in_flight: launches between the control loop and Tune
deaths: launches repeated after the death of their supervisor
message: messages from a trial's actor to the driver
actors: the actor of a trial, which runs its supervisor
remote_ranks: ranks of a trial in other actors, on one node or several
functions: from_ray, a trainable of an existing Ray Tune function or class
"""
