"""Test the URL of an index on a server: its forms, the permitted hosts, and that no password is accepted or shown."""

from pathlib import Path

import pytest

from local_rag.config.server_index import ServerIndex, redacted
from local_rag.config.settings import Settings, index_path
from local_rag.core.errors import LocalRagError, NotLocal, UsageError
from local_rag.runtime.dropped import dropped_files

LOCAL = "postgresql://me@127.0.0.1:5433/team#notes"


def test_a_url_is_taken_apart_and_stays_as_it_was_typed(tmp_path):
    index = index_path(LOCAL, tmp_path)
    assert isinstance(index, ServerIndex) and str(index) == LOCAL
    assert (index.name, index.schema) == ("notes", "local_rag_notes")
    assert index.connection().items() >= {"host": "127.0.0.1", "dbname": "team", "user": "me"}.items()
    assert str(index.with_name("other")) == LOCAL.replace("notes", "other")
    assert index == index_path(LOCAL, tmp_path)
    assert isinstance(index_path("./postgresql", tmp_path), Path)


def test_copies_for_an_index_on_a_server_are_not_those_of_its_namesake():
    assert dropped_files(Settings.load(index=LOCAL)) != dropped_files(Settings.load(index="notes"))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@127.0.0.1/team#notes",
        "postgresql://me:@127.0.0.1/team#notes",
        "postgresql:///team?password=secret#notes",
        "postgresql:///team?passfile=/tmp/secret#notes",
    ],
)
def test_a_password_in_a_url_is_refused_and_never_shown(url, monkeypatch):
    for ways in ({"index": url}, {"also": url}, {"web__never": url}):
        with pytest.raises(UsageError, match="holds a password") as error:
            Settings.load(**ways)
        assert "secret" not in str(error.value).replace("/tmp/secret", "") and "pgpass" in error.value.hint
    monkeypatch.setenv("LOCAL_RAG_INDEX", url)
    with pytest.raises(UsageError, match="holds a password"):
        Settings.load()
    assert "secret" not in redacted(f"cannot use {url} now").replace("/tmp/secret", "")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://h/db#a b",
        "postgresql://h/db#notes'; DROP SCHEMA public --",
        'postgresql://h/db#n"x',
        "postgresql://h/db#" + "n" * 41,
        "postgresql://h/db#näme",
        "postgresql://h:99999/db#n",
        "postgresql://h/db?hostaddr=10.0.0.1#n",
        "postgresql://h/db?options=-csearch_path%3Dpublic#n",
        "postgresql://h/db?target_session_attrs=any#n",
        "postgresql://h/db\n#n",
    ],
)
def test_what_a_url_may_not_say_is_refused(url):
    with pytest.raises(UsageError, match="an index on a server is postgresql://"):
        ServerIndex.of(url)


@pytest.mark.parametrize("host", ["db.example.org", "10.0.0.7", "127.0.0.1.example.org", "localhost.example.org"])
def test_another_machine_must_be_allowed_and_verified(host):
    url = f"postgresql://{host}/team#notes"
    with pytest.raises(NotLocal, match="nothing was sent") as error:
        ServerIndex.of(url).connection()
    assert error.value.hint.endswith(f"LOCAL_RAG_POSTGRES_ALLOW_HOSTS={host}")
    allowed = Settings.load(index=url, postgres__allow_hosts=host).index_path.connection()
    assert (allowed["sslmode"], allowed["sslrootcert"]) == ("verify-full", "system")
    for mode in ("disable", "prefer", "require", "verify-ca"):
        with pytest.raises(UsageError, match="does not verify"):
            ServerIndex.of(url.replace("#", f"?sslmode={mode}#"), [host]).connection()


@pytest.mark.parametrize("host", ["db1,db2", "127.0.0.1,db.example.org", "@abstract", "../socket"])
def test_what_is_no_single_host_is_refused(host):
    with pytest.raises(LocalRagError, match=r"no host|not this machine|an index on a server"):
        ServerIndex("", "notes", {"host": host}).connection()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "/run/postgresql"])
def test_this_machine_needs_no_leave(host):
    given = ServerIndex("", "notes", {"host": host}).connection()
    assert given["host"] == host and "sslmode" not in given


def test_the_environment_chooses_neither_host_nor_password(monkeypatch):
    for name, value in {
        "PGHOST": "db.example.org",
        "PGHOSTADDR": "10.0.0.7",
        "PGPASSWORD": "x",
        "PGSERVICE": "y",
    }.items():
        monkeypatch.setenv(name, value)
    given = ServerIndex.of("postgresql://localhost/team#notes").connection()
    assert (given["host"], given["hostaddr"], given["password"]) == ("localhost", "127.0.0.1", "")
