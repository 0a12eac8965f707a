"""Test which addresses of an Ollama server belong to this machine, which to another, and which are invalid."""

import pytest

from local_rag.core.address import address, check_local
from local_rag.core.errors import NotLocal, UsageError

ADDRESSES = {
    "127.0.0.1": "http://127.0.0.1:11434",
    " 127.0.0.1:1234 ": "http://127.0.0.1:1234",
    "localhost": "http://localhost:11434",
    "LocalHost:80": "http://localhost:80",
    ":1234": "http://localhost:1234",
    "": "http://localhost:11434",
    "0.0.0.0": "http://127.0.0.1:11434",
    "::1": "http://[::1]:11434",
    "[::1]": "http://[::1]:11434",
    "[::1]:1234": "http://[::1]:1234",
    "http://127.0.0.1:1234/": "http://127.0.0.1:1234",
    "https://localhost:8443": "https://localhost:8443",
    "0.0.0.0.": "http://127.0.0.1:11434",
    "0:0:0:0:0:0:0:1": "http://[0:0:0:0:0:0:0:1]:11434",
    "[::1%lo]:1234": "http://[::1%lo]:1234",
    "'127.0.0.1'": "http://127.0.0.1:11434",
    '"localhost:1234"': "http://localhost:1234",
    "http://localhost:11434//": "http://localhost:11434",
}


@pytest.mark.parametrize(("text", "url"), ADDRESSES.items())
def test_an_address_of_this_machine(text, url):
    where = address(text)
    assert where.url == url
    assert where.is_local
    check_local(where, ())


@pytest.mark.parametrize(
    "text",
    [
        "ftp://127.0.0.1",
        "user@127.0.0.1",
        "http://127.0.0.1\\@elsewhere.test",
        "127.0.0.1:port",
        "127.0.0.1:-1",
        "127.0.0.1/ollama",
        "http://127.0.0.1:11434/v1",
        "http://127.0.0.1#x",
        "@127.0.0.1",
        "127.0.0.1\n.box.test",
        "unix:///run/ollama.sock",
        "[::1",
        "127.0.0.1 11434",
        "//127.0.0.1:1234",
        "::1:11434:x",
        "[::1]box.test",
        "１２７.0.0.1",
        "ⓛocalhost",
        "localhost\u200b",
        "localhost%00.box.test",
        "http://127.0.0.1%40box.test",
        "127.0.0.1,box.test",
        "127.0.0.1\tbox.test",
        "127.0.0.1:٣",
        "$(id)",
        "127.0.0.256",
        "\x1b[31mred",
    ],
)
def test_text_that_is_no_address_is_refused(text):
    with pytest.raises(UsageError, match="an address of Ollama is host, host:port or a URL") as met:
        address(text)
    assert "127.0.0.1:11434" in met.value.hint


ABROAD = {
    "box.test": "box.test",
    "https://box.test": "box.test",
    "[2001:db8::1]:1234": "2001:db8::1",
    "localhost.box.test": "localhost.box.test",
    "1.1": "1.1",
    "2130706433": "2130706433",
    "[::ffff:127.0.0.1]": "::ffff:127.0.0.1",
    "[fe80::1%eth0]": "fe80::1%eth0",
    "0": "0",
    "BOX.TEST.": "box.test",
}


@pytest.mark.parametrize(("text", "host"), ABROAD.items())
def test_another_machine_is_refused_unless_it_is_allowed_by_name(text, host):
    where = address(text)
    for allowed in ((), ("other.test", f"{host}.test", host[1:])):
        with pytest.raises(NotLocal, match="is not this machine, so nothing was sent to it") as met:
            check_local(where, allowed)
        assert f"LOCAL_RAG_OLLAMA_ALLOW_HOSTS={host}" in met.value.hint
    check_local(where, ("other.test", host))
    assert not where.is_local
