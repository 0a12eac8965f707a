"""Give every test its own home folder, and let tests connect only to this machine."""

import contextlib
import gc
import hashlib
import importlib.metadata
import itertools
import os
import shutil
import signal
import socket
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import hypothesis
import pytest

from local_rag.diagnostics.network import is_loopback
from local_rag.diagnostics.recorded import TO_ADDRESS

pytest.register_assert_rewrite("support.engine_contract")
_CALLS_OUT: list[str] = []
HOMES = itertools.count()
CHECKOUT = Path(__file__).parents[1]
CONVERTED = CHECKOUT / ".pytest_cache" / "d" / "converted"
"""The folder in which a run of the tests leaves its conversions for the next; `pytest --cache-clear` deletes it."""

CONVERTED_BY = ("local_rag/index/embed",)
FOLDERS = ("embedders",)


def _guard(event, arguments, to_address=TO_ADDRESS):
    """Refuse connections elsewhere as an audit hook, which also sees sockets that a library opens through Python in C.

    It outlives the names of this module, as the hook of tests/unit does.
    """
    if event in to_address and isinstance(arguments[1], tuple):
        _refuse_elsewhere(arguments[1][0], f"called {arguments[1]}")
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        _refuse_elsewhere(arguments[0], f"looked up {arguments[0]}")


def _refuse_elsewhere(host, what):
    if not is_loopback(host.decode() if isinstance(host, bytes) else str(host or "")):
        _CALLS_OUT.append(what)
        raise OSError(f"a test {what}: tests speak to loopback only")


sys.addaudithook(_guard)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background; programs under test would be deaf
    signal.signal(signal.SIGINT, signal.default_int_handler)
socket.setdefaulttimeout(60)
for name in [name for name in os.environ if name.startswith("LOCAL_RAG_")]:
    del os.environ[name]
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # without bytecode every process of a test compiles everything anew
sys.dont_write_bytecode = False
os.environ["LOCAL_RAG_CONFIG_DIR"] = os.devnull  # some tests read the models of the package when they are collected
hypothesis.settings.register_profile("all", max_examples=100, deadline=None)
hypothesis.settings.register_profile("quick", max_examples=20, deadline=None)
hypothesis.settings.load_profile("all")


def pytest_addoption(parser):
    parser.addoption("--bundle", action="store_true", help="build a whole bundle: 2 GB from a package index, minutes")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--bundle"):
        for item in items:
            if item.get_closest_marker("bundle"):
                item.add_marker(pytest.mark.skip(reason="builds a bundle of 2 GB: --bundle runs it"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """Keep the garbage collector from looking at thousands of tests that stay to the end, a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def no_calls_out():
    """Fail the test that made a forbidden call, even if a library swallowed the error."""
    before = len(_CALLS_OUT)
    yield
    assert _CALLS_OUT[before:] == [], "a socket that is not loopback"


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory):
    """Return one cache for the whole run and all its workers, without any settings of the person who runs the tests."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    folder.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LOCAL_RAG_CACHE_DIR", str(folder))
        patched.setenv("OLLAMA_HOST", "127.0.0.1:1")  # nothing listens there, whatever runs on this machine
        at_home(patched, tmp_path_factory.mktemp("home"))
        with one_at_a_time(folder):
            restore(folder)
        yield folder


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch, cache):
    """Give each test its own settings, indexes and home folder."""
    folder = tmp_path_factory.getbasetemp() / "homes" / str(next(HOMES))
    folder.mkdir(parents=True)
    return at_home(monkeypatch, folder)


def at_home(patched, folder):
    patched.setenv("LOCAL_RAG_CONFIG_DIR", str(folder / "config"))
    patched.setenv("LOCAL_RAG_DATA_DIR", str(folder / "data"))
    patched.setenv("HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def converted(cache):
    """Return the cache with MiniLM converted in it, which takes half a minute once per checkout."""
    from support.fakes_index import minilm, quick_minilm

    with one_at_a_time(cache):
        minilm().load()
        quick_minilm().load()  # one that is in memory is shared by all who load it later
        keep(cache, CONVERTED / conversions_key())
    return cache


@contextlib.contextmanager
def one_at_a_time(cache):
    """Let only one of a run's workers be in the block."""
    with contextlib.closing(sqlite3.connect(cache / "converting.lock", timeout=600, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield


def restore(cache):
    """Link the conversions of an earlier run, if nothing that they depend on has changed."""
    kept = CONVERTED / conversions_key()
    if kept.is_dir() and not any((cache / name).exists() for name in FOLDERS):
        for name in FOLDERS:
            link_tree(kept / name, cache / name)


def conversions_key():
    """Return a digest of everything that the conversions depend on: our own sources and the libraries."""
    sources = [file for folder in CONVERTED_BY for file in sorted((CHECKOUT / folder).rglob("*")) if file.is_file()]
    digest = hashlib.sha256()
    for file in sources:
        if "__pycache__" not in file.parts:
            digest.update(file.read_bytes())
    for name in ("openvino", "torch", "sentence-transformers", "transformers", "tokenizers", "numpy"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            digest.update(f"{name} {importlib.metadata.version(name)}".encode())
    return digest.hexdigest()[:16]


def keep(cache, kept):
    """Keep the conversions for later runs in one step, and delete those of earlier sources."""
    if kept.is_dir():
        return
    shutil.rmtree(CONVERTED, ignore_errors=True)
    with contextlib.suppress(OSError):
        CONVERTED.mkdir(parents=True)
        draft = Path(tempfile.mkdtemp(dir=CONVERTED))
        for name in FOLDERS:
            link_tree(cache / name, draft / name)
        draft.rename(kept)


def link_tree(source, target):
    """Link the files of a folder in another folder, or copy them if the file system supports no links."""

    def link(file, other):
        try:
            os.link(file, other)
        except OSError:
            shutil.copy2(file, other)

    shutil.copytree(source, target, copy_function=link)


@pytest.fixture
def said(capsys):
    """Return a person who types commands of local-rag."""
    from support.typed import Typed

    return Typed(capsys)


@pytest.fixture
def ollama(monkeypatch):
    """Start a server on loopback that speaks the API of the new Ollama, where a person's commands look for it."""
    from support.ollama_server import OllamaServer

    with OllamaServer() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        yield server


@pytest.fixture
def clocks_in_berlin(monkeypatch):
    if not hasattr(time, "tzset"):
        pytest.skip("this system has no tzset")
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
