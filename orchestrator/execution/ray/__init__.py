"""The Ray executor: trials as actors under Ray Tune, on this machine or on a cluster.

executor: RayExecutor, which starts or joins Ray and runs a sweep
connection: Ray itself: settings, connecting, nodes, shutting down
listener: what listens at an address: Ray, or something else
local_ray: starting a Ray of the driver's own, private and on the loopback interface
init_apart: ray.init in a thread, which is waited for within limits
refusals: why that does not start, in words
token: Ray's authentication token, for a driver that connects
runtime_env: the project's code, on its way to a cluster's workers
node_servers: fork servers of each node
node_checks: what each node of a cluster lacks, before the first trial
tuner: one Tuner a sweep, and Tune's searcher, scheduler and stopper as thin adapters
own_processes: whether the processes of Ray that a sweep needs live
apart: Tune in a thread, which a Ray that has died could hold for ever
deaths: what a supervisor's death has ended, run again
in_flight: launches that Tune has in hand, between it and the control loop
message: messages from a trial's actor to the driver
actors: the actor of a trial, which runs its supervisor
rank_actors: actors of a trial's other ranks
node_ranks: ranks of a trial on its other nodes
functions/: from_ray, a trainable of an existing Ray Tune function or class
"""
