"""Situations of the machine and of what starts the program: namespaces, limits, users, clocks."""

from __future__ import annotations

from typing import Final

from benchmarks.reliability.places.situations import ANY, NO_ANSWER, REFUSED, Situation

_EITHER: Final = (0, 1, 2)
_USER: Final = (
    "setpriv --reuid 12345 --regid 12345 --clear-groups --inh-caps=+dac_read_search "
    "--ambient-caps=+dac_read_search"
)
_IN_GROUP: Final = (
    "own=$(sed -n 's/^[0-9]*:{kind}://p' /proc/self/cgroup); base=/sys/fs/cgroup/{kind}; "
    "group=$base/places-$$; mkdir $group; {limits}; echo $$ > $group/cgroup.procs; {{command}}; "
    "code=$?; echo $$ > $base$own/cgroup.procs; for n in 1 2 3 4 5 6 7 8 9; do "
    "rmdir $group 2> /dev/null && break; sleep 1; done; exit $code"
)
_PYTHON: Final = "exec python3 -c 'import os, signal, sys; {}; os.execv(sys.argv[1], sys.argv[1:])'"
_JUMP: Final = (
    "mkdir d; printf '%s\\n' 'import os, time' 'right = time.time' "
    "'time.time = lambda: right() + ({} if os.path.exists(\"{{folder}}/d/now\") else 0)' "
    "> d/sitecustomize.py; "
    "(for n in $(seq 300); do grep -qs '\"started\"' run/journal.jsonl && break; sleep 0.2; done; "
    "touch d/now) & PYTHONPATH=d:$PYTHONPATH {{command}}; code=$?; kill $! 2> /dev/null; exit $code"
)
"""The clock of all Python processes jumps, in seconds, once a trial has started."""


def _in_group(kind: str, **limits: str) -> str:
    """Return a script that runs the sweep in a control group (version 1) of its own."""
    lines = [f"echo {value} > $group/{kind}.{name}" for name, value in limits.items()]
    return _IN_GROUP.format(kind=kind, limits="; ".join(lines))


def _ray(
    name: str, script: str = "exec {command}", codes: tuple[int, ...] = (0,), says: str = ""
) -> Situation:
    return Situation(name=name, script=script, codes=codes, executor="ray", says=says)


_MANY: Final = {f"VARIABLE_{number}": "x" * 20 for number in range(2000)}

MACHINES: Final = (
    # -- name spaces
    _ray("first process of a namespace", "exec unshare -pf --kill-child --mount-proc {command}"),
    _ray(
        "no network but lo",
        "exec unshare --net sh -c 'ip link set lo up; exec \"$@\"' sh {command}",
    ),
    _ray("no network at all", "exec unshare --net {command}", codes=ANY),
    _ray(
        "a host name that resolves to nothing",
        "exec unshare --uts sh -c 'hostname nowhere-at-all; exec \"$@\"' sh {command}",
    ),
    _ray("/dev/shm of 64 MB", "mount -t tmpfs -o size=64m none /dev/shm && exec {command}"),
    _ray("/dev/shm read-only", "mount -t tmpfs -o ro none /dev/shm && exec {command}", NO_ANSWER),
    _ray("no /dev/shm", "umount /dev/shm && exec {command}", codes=ANY),
    Situation(
        name="HOME read-only",
        script="mount -t tmpfs -o ro none home && exec {command}",
        variables={"SWEEP_CACHE": None},
        executor="ray",
        uri="sqlite:///{folder}/mlflow.db",
    ),
    _ray(
        "a root file system that is read-only",
        "mount --bind {folder} {folder} && mount -o bind,remount,ro / && exec {command}",
    ),
    _ray(
        "others' processes are hidden",
        f"chown -R 12345 . && mount -t proc -o hidepid=2 none /proc && exec {_USER} {{command}}",
    ),
    # -- control groups
    _ray("half a core by quota", _in_group("cpu", cfs_quota_us="50000")),
    _ray("one core by cpuset", _in_group("cpuset", mems="0", cpus="1")),
    _ray("memory of 4 GiB by group", _in_group("memory", limit_in_bytes="4G")),
    _ray("memory of 700 MiB by group", _in_group("memory", limit_in_bytes="700M"), NO_ANSWER),
    _ray("200 tasks by group", _in_group("pids", max="200"), codes=REFUSED),
    # -- limits and users
    _ray("few processes for a user", f"chown -R 12345 .; ulimit -u 120; exec {_USER} {{command}}",
         codes=REFUSED),
    Situation(
        name="very few processes for a user",
        script=f"chown -R 12345 .; ulimit -u 8; exec {_USER} {{command}}",
        codes=_EITHER,
    ),
    _ray("CPU time of 3 s", "ulimit -S -t 3; exec {command}", codes=(0, 1, 2, 152)),
    _ray("data of 3 GB", "ulimit -d 3000000; exec {command}", codes=_EITHER),
    _ray("stack without a limit", "ulimit -s unlimited; exec {command}"),
    _ray("a million files", "ulimit -n 1048576; exec {command}"),
    _ray("root without capabilities",
         "exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs {command}"),
    Situation(
        name="leases of two users",
        script=f"umask 077; chmod 777 . tmp; {_USER} {{other}} & one=$!; {{command}} || exit $?; "
        "wait $one",
        variables={"SWEEP_CACHE": None},
    ),
    Situation(
        name="two sweeps with Ray at once",
        script="{command} & one=$!; ({other}) & two=$!; wait $one; a=$?; wait $two || exit $?; "
        "exit $a",
        executor="ray",
    ),
    # -- what starts it
    _ray("SIGCHLD ignored", _PYTHON.format("signal.signal(17, signal.SIG_IGN)") + " {command}"),
    _ray("signals blocked",
         _PYTHON.format("signal.pthread_sigmask(0, [1, 2, 3, 10, 12, 14, 15, 17])") + " {command}"),
    _ray("SIGTERM ignored", "trap '' TERM; exec {command}"),
    _ray("nohup, and SIGHUP",
         "nohup {command} & pid=$!; sleep 6; kill -HUP $pid; wait $pid"),
    _ray("timeout", "RELIABILITY_TRIALS=40 exec timeout 30 {command}", (124,), says="to go on"),
    _ray("timeout by SIGKILL", "RELIABILITY_TRIALS=40 exec timeout -s KILL 30 {command}", (-9,)),
    _ray(
        "Ctrl-Z and fg",
        "set -m; {command} & pid=$!; sleep 8; kill -TSTP -- -$pid; sleep 12; kill -CONT -- -$pid; "
        "wait $pid",
    ),
    _ray("below setsid", "exec setsid --wait {command}"),
    Situation(
        name="variables of torchrun and Slurm",
        variables={
            "RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2",
            "MASTER_ADDR": "nowhere.invalid", "MASTER_PORT": "1", "TORCHELASTIC_RUN_ID": "x",
            "SLURM_JOB_ID": "7", "SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_LOCALID": "0",
            "SLURM_NODELIST": "n[1-2]", "SLURM_CPUS_PER_TASK": "1", "SLURM_JOB_NUM_NODES": "2",
        },
        executor="ray",
    ),
    Situation(
        name="variables of a job within a Ray cluster, and Tune's own",
        variables={
            "RAY_JOB_ID": "01000000", "RAY_NODE_ID": "ab" * 28, "RAY_RAYLET_PID": "1",
            "RAY_CLIENT_MODE": "0", "RAY_NODE_IP_ADDRESS": "10.1.2.3", "RAY_WORKER_NICENESS": "x",
            "TUNE_RESULT_BUFFER_LENGTH": "50", "TUNE_MAX_LEN_IDENTIFIER": "5",
            "TUNE_FORCE_TRIAL_CLEANUP_S": "1", "TUNE_DISABLE_STRICT_METRIC_CHECKING": "0",
            "TUNE_WARN_THRESHOLD_S": "0", "TUNE_FUNCTION_THREAD_TIMEOUT_S": "0",
        },
        executor="ray",
    ),
    Situation(
        name="variables of an external Redis",
        variables={"RAY_REDIS_ADDRESS": "127.0.0.1:9", "RAY_external_storage_namespace": "x"},
        executor="ray",
        codes=ANY,
    ),
    # -- the environment as such
    Situation(
        name="variables: long, many, of several lines, a function of bash's",
        variables={
            "LARGE": "x" * 120_000, "LINES_OF": "a\nb", "BASH_FUNC_x%%": "() {  :\n}", **_MANY
        },
        executor="ray",
    ),
    _ray("PYTHONPATH with odd entries",
         'PYTHONPATH=":nowhere::/dev/null:~/x:relative:$PYTHONPATH:" exec {command}'),
    Situation(name="a locale that is not installed",
              variables={"LC_ALL": "xx_YY.UTF-8", "LANG": "tr_TR"}, executor="ray"),
    Situation(name="TERM unset, NO_COLOR", variables={"TERM": None, "NO_COLOR": "1"}),
    *(
        Situation(name=f"MLFLOW_TRACKING_URI={uri!r}", variables={"MLFLOW_TRACKING_URI": uri},
                  uri="", codes=ANY)
        for uri in ("", " ", "./mlruns", "~/mlflow.db", "sqlite:///mlflow.db", "databricks")
    ),
    Situation(name="MLflow by TLS, its certificate unknown", uri="https://{tls}",
              says="is incomplete (MlflowException: SSLError"),
    *(
        Situation(name=f"MLflow by TLS, {name}", uri="https://{tls}", variables={name: value})
        for name, value in (
            ("MLFLOW_TRACKING_SERVER_CERT_PATH", "{certificate}"),
            ("MLFLOW_TRACKING_INSECURE_TLS", "true"),
            ("REQUESTS_CA_BUNDLE", "{certificate}"),
        )
    ),
    # -- places and clocks
    _ray("a repository that is a link",
         "ln -s {repository} d; cd d; PYTHONPATH={folder}/d exec {command}"),
    Situation(name="a clock that jumps back an hour", script=_JUMP.format("-3600"), executor="ray",
              uri="sqlite:///{folder}/mlflow.db"),
    Situation(name="a clock that jumps on by a day", script=_JUMP.format("86400"), executor="ray",
              uri="sqlite:///{folder}/mlflow.db"),
)  # fmt: skip
"""What the machine is like, and what the program is started by."""
