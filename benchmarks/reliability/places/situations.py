"""Situations that people run in: odd environments, folders, limits and signals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

NO_ANSWER: Final = (0, 3)
REFUSED: Final = (2,)
ANY: Final = (0, 2)
"""Exit codes that are right: it works, it is refused, either."""


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A situation, and what may come of it.

    Attributes:
        name: It, in words.
        script: Shell commands; ``{command}`` is the sweep's, ``{other}`` the same with another run
            directory, ``{folder}`` the folder for all, ``{repository}`` this checkout.
        variables: Environment variables; None removes one.
        codes: Exit codes that are right.
        executor: The executor's name.
        out: The run directory as it is typed.
        uri: The tracking URI; None: without MLflow; empty: none is given.
        says: Text that the output has to have.
        run: Where the run directory is then; empty: ``out``.
    """

    name: str
    script: str = "exec {command}"
    variables: Mapping[str, str | None] = field(default_factory=dict)
    codes: tuple[int, ...] = (0,)
    executor: str = "inline"
    out: str = "{folder}/run"
    uri: str | None = None
    says: str = ""
    run: str = ""


def _with(
    name: str,
    variables: Mapping[str, str | None],
    executor: str = "inline",
    codes: tuple[int, ...] = (0,),
    says: str = "",
) -> Situation:
    return Situation(name=name, variables=variables, executor=executor, codes=codes, says=says)


_ODD: Final = "ein Ordner mit Lücken, 'quotes' und $x"

SITUATIONS: Final = (
    # -- folders for temporary files
    _with("TMPDIR with spaces and unicode", {"TMPDIR": "{folder}/tmp/ä ö"}, "ray"),
    _with("TMPDIR is a link", {"TMPDIR": "{folder}/link"}, "ray"),
    _with("TMPDIR absent", {"TMPDIR": "{folder}/absent"}, "ray"),
    _with("TMPDIR is a file", {"TMPDIR": "{folder}/file"}, "ray"),
    _with("TMPDIR relative", {"TMPDIR": "tmp"}, "ray"),
    _with("TMPDIR with a tilde", {"TMPDIR": "~/tmp"}),
    Situation(
        name="TMPDIR without execution",
        script="mount -t tmpfs -o noexec none {folder}/tmp && exec {command}",
        executor="ray",
    ),
    # -- home
    _with("HOME unset", {"HOME": None}, "ray"),
    _with("HOME empty", {"HOME": ""}),
    _with("HOME absent", {"HOME": "/nonexistent/home"}),
    _with("HOME is a file", {"HOME": "{folder}/file"}, "ray"),
    _with(
        "XDG_* are not folders",
        {f"XDG_{name}_HOME": "/dev/null/x" for name in ("CACHE", "CONFIG", "DATA", "STATE")}
        | {"XDG_RUNTIME_DIR": "/dev/null/x", "SWEEP_CACHE": None},
        "ray",
    ),
    _with("SWEEP_CACHE with a tilde", {"SWEEP_CACHE": "~/cache"}),
    _with("SWEEP_LEASES with a tilde", {"SWEEP_LEASES": "~/leases"}),
    _with("SWEEP_DATA with a tilde", {"SWEEP_DATA": "~/data"}),
    # -- the current folder
    Situation(
        name="current folder removed",
        script="mkdir d; cd d; rmdir ../d; exec {command}",
        codes=REFUSED,
        says="the current folder: No such file",
    ),
    Situation(
        name="current folder read-only",
        script="mkdir d; mount -t tmpfs -o ro none d; cd d; exec {command}",
        executor="ray",
    ),
    Situation(
        name="current folder read-only, runs there",
        script="mkdir d; mount -t tmpfs -o ro none d; cd d; exec {command}",
        out="run",
        codes=REFUSED,
        says="Read-only file system",
    ),
    *(
        Situation(
            name=f"{module}.py in the current folder",
            script=f"echo 'raise ImportError(__file__)' > {module}.py; exec {{command}}",
            executor="ray",
            codes=ANY,
        )
        for module in ("random", "torch", "ray", "mlflow", "numpy")  # by types.py `python -m` ends
    ),
    Situation(
        name="PYTHONPATH with a module of the standard library's name",
        script="mkdir d; echo x=1 > d/queue.py; PYTHONPATH=d:$PYTHONPATH exec {command}",
        codes=(0, 1, 2),
    ),
    # -- run directories
    Situation(name="--out with a slash at its end", out="{folder}/run/"),
    Situation(name="--out with a variable", out="$HOME/run", codes=ANY),
    Situation(name="--out with an unknown variable", out="$NOWHERE/run", codes=REFUSED),
    Situation(name="--out of an unknown user", out="~nobody-there/run", codes=REFUSED),
    Situation(name="--out with a tilde", out="~/run", run="{home}/run"),
    Situation(name="--out is a file", out="{folder}/file", codes=REFUSED),
    Situation(name="--out below a file", out="{folder}/file/run", codes=REFUSED),
    Situation(name="--out is a link to nothing", out="{folder}/dangling", codes=REFUSED),
    Situation(name="--out is a device", out="/dev/null", codes=REFUSED),
    Situation(name="--out below /proc", out="/proc/run", codes=REFUSED),
    Situation(name="--out is empty", out="", codes=REFUSED),
    Situation(name="--out with spaces and unicode", out="{folder}/" + _ODD, executor="ray"),
    Situation(name="--out of 200 characters", out="{folder}/" + "x" * 200, executor="ray"),
    Situation(name="--out of 300 characters", out="{folder}/" + "x" * 300, codes=REFUSED),
    Situation(name="--out of 5,000 characters", out="{folder}" + "/xxxxxxxxx" * 500, codes=REFUSED),
    Situation(name="--out with a line end", out="{folder}/a\nb", codes=ANY),
    Situation(
        name="--out on another file system",
        script="mkdir d; mount -t tmpfs none d; {command}; code=$?; cp -r d/run run; exit $code",
        out="{folder}/d/run",
        run="{folder}/run",
        executor="ray",
    ),
    # -- variables of Ray's and MLflow's
    _with("RAY_ADDRESS of a cluster that is gone", {"RAY_ADDRESS": "127.0.0.1:6379"}, "ray"),
    _with("RAY_ADDRESS=auto", {"RAY_ADDRESS": "auto"}, "ray"),
    _with("RAY_TMPDIR elsewhere", {"RAY_TMPDIR": "{folder}/ray-elsewhere"}, "ray"),
    _with(
        "Ray's own variables",
        {
            "RAY_RUNTIME_ENV_HOOK": "nosuch.module.hook",
            "RAY_NAMESPACE": "mine",
            "RAY_CHDIR_TO_TRIAL_DIR": "1",
            "RAY_AIR_NEW_OUTPUT": "1",
            "RAY_DEDUP_LOGS": "1",
            "RAY_AUTH_TOKEN": "abc",
            "RAY_AUTH_MODE": "token",
            "RAY_LOG_TO_STDERR": "1",
            "TUNE_RESULT_DIR": "{folder}/tune-elsewhere",
            "RAY_BACKEND_LOG_LEVEL": "debug",
            "RAY_JOB_CONFIG_JSON_ENV_VAR": "{}",
            "TUNE_MAX_PENDING_TRIALS_PG": "x",
        },
        "ray",
    ),
    _with("RAY_USE_TLS without certificates", {"RAY_USE_TLS": "1"}, "ray"),
    _with("RAY_OVERRIDE_RESOURCES", {"RAY_OVERRIDE_RESOURCES": '{"CPU": 0}'}, "ray"),
    Situation(
        name="MLflow's own variables",
        uri="sqlite:///{folder}/mlflow.db",
        variables={
            "MLFLOW_EXPERIMENT_NAME": "other",
            "MLFLOW_RUN_ID": "0" * 32,
            "MLFLOW_EXPERIMENT_ID": "77",
            "MLFLOW_TRACKING_USERNAME": "me",
            "MLFLOW_TRACKING_PASSWORD": "secret",
            "MLFLOW_ENABLE_ASYNC_LOGGING": "true",
            "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING": "true",
            "MLFLOW_HTTP_REQUEST_TIMEOUT": "x",
            "MLFLOW_TRUNCATE_LONG_VALUES": "false",
            "MLFLOW_RUN_CONTEXT": "{}",
            "MLFLOW_REGISTRY_URI": "databricks",
            "MLFLOW_DEFAULT_ARTIFACT_ROOT": "s3://x",
            "MLFLOW_LOGGING_LEVEL": "DEBUG",
            "MLFLOW_CONFIGURE_LOGGING": "false",
        },
    ),
    *(
        Situation(
            name=f"a proxy{name}",
            variables=dict.fromkeys(
                ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"),
                "http://127.0.0.1:9",
            ),
            uri=uri,
            executor=executor,
        )
        for name, uri, executor in (
            ("", None, "ray"),
            (" and MLflow's server here", "http://{server}", "inline"),
        )
    ),
    Situation(
        name="two sweeps at once into one MLflow",
        uri="sqlite:///{folder}/mlflow.db",
        script="{command} & one=$!; ({other}) & two=$!; wait $one; a=$?; wait $two || exit $?; "
        "exit $a",
    ),
    # -- limits
    Situation(name="umask 077", script="umask 077; exec {command}", executor="ray"),
    Situation(name="umask 000", script="umask 000; exec {command}", executor="ray"),
    Situation(name="umask 777", script="umask 777; exec {command}", codes=ANY),
    Situation(
        name="ulimit -n 256", script="ulimit -n 256; exec {command}", executor="ray", codes=ANY
    ),
    Situation(
        name="ulimit -n 40",
        script="ulimit -n 40; exec {command}",
        executor="ray",
        codes=(0, 1, 2),
    ),
    Situation(
        name="ulimit -v 4 GB",
        script="ulimit -v 4000000; exec {command}",
        executor="ray",
        codes=(0, 1, 2),
    ),
    Situation(name="ulimit -v 1 GB", script="ulimit -v 1000000; exec {command}", codes=(0, 1, 2)),
    Situation(name="ulimit -s 256", script="ulimit -s 256; exec {command}", executor="ray"),
    Situation(name="ulimit -f 8", script="ulimit -f 8; exec {command}", codes=(0, 1, 2)),
    Situation(name="ulimit -c unlimited", script="ulimit -c unlimited; exec {command}"),
    Situation(name="ulimit -l 0", script="ulimit -l 0; exec {command}", executor="ray"),
    Situation(name="one core", script="exec taskset -c 0 {command}", executor="ray"),
    Situation(name="nice 19", script="exec nice -n 19 {command}"),
    # -- language and streams
    _with("LANG=C", {"LANG": "C", "LC_ALL": "C"}, "ray"),
    _with("PYTHONIOENCODING=ascii", {"PYTHONIOENCODING": "ascii"}),
    Situation(
        name="PYTHONIOENCODING=ascii, unicode in a path",
        variables={"PYTHONIOENCODING": "ascii"},
        out="{folder}/" + _ODD,
    ),
    Situation(
        name="a locale of ASCII",
        variables={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        executor="ray",
    ),
    Situation(
        name="a locale of ASCII, unicode in a path",
        variables={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        out="{folder}/" + _ODD,
        codes=ANY,
    ),
    Situation(name="output closed", script="exec {command} >&-", executor="ray"),
    Situation(name="output and errors closed", script="exec {command} >&- 2>&-"),
    Situation(name="all closed", script="exec {command} <&- >&- 2>&-", executor="ray"),
    Situation(name="input closed", script="exec {command} <&-", executor="ray"),
    Situation(name="a pipe that is broken", script="{command} | head -1; exit ${PIPESTATUS[0]}"),
    Situation(
        name="errors into a pipe that is broken",
        script="{command} 2>&1 >&1 | true; exit ${PIPESTATUS[0]}",
        executor="ray",
    ),
    Situation(name="output on a full disk", script="exec {command} > /dev/full"),
    Situation(name="errors on a full disk", script="exec {command} 2> /dev/full", executor="ray"),
    Situation(name="output read-only", script="exec {command} 1< /dev/null", codes=(0, 1, 2)),
    # -- variables of libraries and of Python
    _with("CUDA_VISIBLE_DEVICES=garbage", {"CUDA_VISIBLE_DEVICES": "garbage"}, "ray"),
    _with("CUDA_VISIBLE_DEVICES=-1", {"CUDA_VISIBLE_DEVICES": "-1"}, "ray"),
    _with("CUDA_VISIBLE_DEVICES=7,9", {"CUDA_VISIBLE_DEVICES": "7,9"}, "ray"),
    _with(
        "numbers of threads that are none",
        dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "garbage"),
        "ray",
    ),
    _with("MALLOC_ARENA_MAX=x, MALLOC_CONF=x", {"MALLOC_ARENA_MAX": "x", "MALLOC_CONF": "x"}),
    _with("LD_PRELOAD of nothing", {"LD_PRELOAD": "/nonexistent.so"}, "ray"),
    _with("MPLBACKEND=garbage", {"MPLBACKEND": "garbage"}),
    _with("MPLBACKEND of a notebook", {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}),
    _with("PYTHONWARNINGS=error", {"PYTHONWARNINGS": "error"}, "ray"),
    _with("PYTHONOPTIMIZE=2", {"PYTHONOPTIMIZE": "2"}, "ray", REFUSED),
    _with("PYTHONDEVMODE=1", {"PYTHONDEVMODE": "1"}),
    _with("PYTHONSAFEPATH=1", {"PYTHONSAFEPATH": "1"}, "ray"),
    _with("COLUMNS=garbage, TERM=garbage", {"COLUMNS": "garbage", "TERM": "garbage"}),
    _with("COLUMNS=0", {"COLUMNS": "0", "LINES": "0"}),
    _with("FORCE_COLOR=1", {"FORCE_COLOR": "1"}),
    _with("TZ=garbage", {"TZ": "garbage"}),
    _with("USER and LOGNAME unset", {"USER": None, "LOGNAME": None}),
    _with("PATH empty", {"PATH": "/nonexistent"}, "ray", codes=REFUSED, says="no bash in PATH="),
    _with("variables that are no UTF-8", {"ODD": "a\udcffb"}, "ray"),
    Situation(
        name="a user without an entry",
        script="chown -R 12345 {folder}; umask 077; exec setpriv --reuid 12345 --regid 12345 "
        "--clear-groups --inh-caps=+dac_read_search --ambient-caps=+dac_read_search {command}",
        variables={"USER": None, "LOGNAME": None},
        executor="ray",
    ),
    Situation(
        name="a user without an entry and without a home",
        script="chown -R 12345 {folder}; chown 0 {folder}/home; exec setpriv --reuid 12345 "
        "--regid 12345 --clear-groups --inh-caps=+dac_read_search "
        "--ambient-caps=+dac_read_search {command}",
        variables={"USER": None, "LOGNAME": None, "SWEEP_CACHE": None},
        executor="ray",
    ),
)
