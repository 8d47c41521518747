"""The operating system, without trials: Linux, its ``/proc`` and ``/sys``, and NVML.

cores: cores that a process may run on, their topology, and a choice among them
cgroup: limits of control groups and the node, the order of kills, imports without collection
processes: CPU time, memory and waiting of process trees
lifeline: processes that end with their parent or trial, and leave signals to the driver
allocators: environment variables of memory allocators
gpus: GPUs by UUID; parts of one for several processes at a time
disk: files that are synced for good; private folders; lock files for all users
streams: standard output that outlasts its reader, in UTF-8
"""
