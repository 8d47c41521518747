"""A team's MLflow on PostgreSQL, with the commands of docs/recipes/mlflow-postgresql.md."""

from __future__ import annotations

import os
import pwd
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from tests.conftest import ROOT, StartCli
from tests.orchestrator.cluster.outside_tmp import WITH_TESTS, folder_outside_tmp
from tests.orchestrator.tracking.serving import free_port, serving

PAGE = ROOT / "docs/recipes/mlflow-postgresql.md"
WORKLOAD = ROOT / "tests/orchestrator/execution/workload.py"
PASSWORD = "not-to-be-seen"
USER = "nobody"
"""PostgreSQL does not run as root."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def program(name: str) -> str:
    """Return the path of a program of PostgreSQL, which Debian keeps out of the search path."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = shutil.which(name) or (str(versions[-1]) if versions else None)
    if found is None:
        pytest.skip(f"no {name} of PostgreSQL here")
    return found


class Database:
    """A PostgreSQL server with a database for MLflow."""

    def __init__(self, folder: Path) -> None:
        """Make its files and start it."""
        self.folder, self.port = folder, free_port()
        shutil.chown(folder, USER)
        self._as_user(program("initdb"), "-D", folder / "data", "--username=postgres",
                      "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync")  # fmt: skip
        self._server = subprocess.Popen(
            [*self._user(), program("postgres"), "-D", folder / "data", "-k", folder,
             "-p", str(self.port), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not (folder / f".s.PGSQL.{self.port}").exists():
            assert time.monotonic() < deadline, "it did not start"
            assert self._server.poll() is None, "it ended"
            time.sleep(0.1)

    def sql(self, command: str, database: str = "postgres") -> str:
        """Run a command as the administrator."""
        return self._as_user(*self._tool("psql"), "-d", database, "-Atc", command).strip()

    def run(self, *words: str) -> None:
        """Run one of PostgreSQL's tools as the administrator."""
        self._as_user(*self._tool(words[0]), *words[1:])

    def close(self) -> None:
        """End it."""
        self._server.terminate()
        self._server.wait(30)

    def _tool(self, name: str) -> list[str]:
        return [program(name), "-h", str(self.folder), "-p", str(self.port), "-U", "postgres"]

    def _as_user(self, *words: str | Path) -> str:
        command = [*self._user(), *map(str, words)]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @staticmethod
    def _user() -> list[str]:
        """Return the beginning of its commands, which end with the tests, as that user."""
        if os.geteuid() != 0:
            return [*WITH_TESTS]
        found = pwd.getpwnam(USER)
        return [*WITH_TESTS, f"--reuid={found.pw_uid}", f"--regid={found.pw_gid}", "--clear-groups"]


@pytest.fixture
def database() -> Iterator[Database]:
    """A database as the page has it made; only the password is not typed."""
    pytest.importorskip("psycopg2")
    with folder_outside_tmp("sweep-postgresql-") as folder:
        server = Database(folder)
        try:
            server.sql(f"CREATE ROLE mlflow LOGIN PASSWORD '{PASSWORD}'")
            server.run(*shlex.split(command("createdb")))
            yield server
        finally:
            server.close()


def command(start: str) -> str:
    """Return the command of the page that begins so."""
    found = re.search(rf"^    ({start}.*)$", PAGE.read_text(), re.MULTILINE)
    assert found is not None, start
    return found[1]


def test_two_sweeps_are_in_a_teams_database(
    database: Database, start_cli: StartCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"127.0.0.1:{database.port}:mlflow:mlflow:{PASSWORD}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    words = shlex.split(command("mlflow server"))[2:]
    options = dict(zip(words[::2], words[1::2], strict=True))
    store = options["--backend-store-uri"].replace("DBHOST:5432", f"127.0.0.1:{database.port}")
    port = free_port()
    hosts = options["--allowed-hosts"].replace("MLFLOWHOST", "127.0.0.1").replace("5000", f"{port}")
    changed = {
        "--backend-store-uri": store,
        "--artifacts-destination": str(tmp_path / "artifacts"),
        "--allowed-hosts": hosts,
    }
    assert set(changed) | {"--host", "--port", "--workers"} == set(options)

    with serving(tmp_path, port, *chain.from_iterable(changed.items())) as address:
        common = (WORKLOAD, "--executor", "inline", "--tracking-uri", address)
        sweeps = [start_cli(*common, "--out", tmp_path / f"run-{n}") for n in range(2)]
        for sweep in sweeps:
            out, err = sweep.communicate(timeout=200)
            assert sweep.returncode == 0, out + err
        client = MlflowClient(address)
        experiments = [each.experiment_id for each in client.search_experiments()]
        runs = client.search_runs(experiments)
        parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
        assert len(parents) == 2
        assert {run.info.status for run in runs} == {"FINISHED"}
        stored = client.list_artifacts(parents[0].info.run_id)
        assert "report.html" in {Path(each.path).name for each in stored}

    # A request that was repeated leaves a run in the bin.
    active = "SELECT count(*) FROM runs WHERE lifecycle_stage = 'active'"
    assert int(database.sql(active, "mlflow")) == len(runs)
    for file in tmp_path.glob("run-*/**/*"):
        assert file.is_dir() or PASSWORD not in file.read_bytes().decode(errors="replace")
