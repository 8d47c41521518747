"""The operating system, without trials: Linux, its ``/proc`` and ``/sys``, and NVML.

cores: cores that a process may run on: affinity, quota, binding
topology: physical cores and NUMA nodes, and a choice among cores
cgroup: limits of control groups
containers: folders that only one container sees
memory: memory of the node, and the order in which the kernel kills
processes: CPU time, memory and waiting of process trees
owners: the command that a process belongs to
job_signals: signals to all processes of a job
lifeline: processes that end with their parent
allocators: environment variables of memory allocators
gpus: GPUs by UUID
network: interfaces by their address
energy: energy of the CPU packages
imports: imports without garbage collection
lock_files: lock files that are plain files
private_folder: the private folder of what is kept outside a run directory
streams: standard output that outlasts its reader
text_encoding: UTF-8, whatever the locale
"""
