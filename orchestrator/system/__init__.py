"""The operating system, without trials: Linux, its ``/proc`` and ``/sys``, and NVML.

cores: cores that a process may run on, their topology, and a choice among them
cgroup: limits of control groups
memory: memory of the node, the order in which the kernel kills, imports without garbage collection
processes: CPU time, memory and waiting of process trees
lifeline: processes that end with their parent, and leave signals to the driver
allocators: environment variables of memory allocators
gpus: GPUs by UUID
energy: energy of the CPU packages
lock_files: lock files that other users can open too
private_folder: the private folder of what is kept outside a run directory
streams: standard output that outlasts its reader, in UTF-8
"""
