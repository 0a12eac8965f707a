"""However large, slow or well packed a page is: a fetch ends within its limits, or when it is stopped."""

from __future__ import annotations

import gzip
import random
import threading
import time
import tracemalloc
import zlib

import pytest
from support.web_server import WebServer, drip, fetcher, head, html, refusal, reply, silence

from local_rag.core import cancel
from local_rag.core.cancel import Cancel
from local_rag.core.errors import DeadlineExceeded, Stopped
from local_rag.web.body import FetchLimits
from local_rag.web.fetch import Fetcher

PAGE = "<html><body><p>Hello from a page.</p></body></html>"
SOON = 20
"""Seconds that no test comes near, unless something hangs."""


@pytest.fixture
def web():
    with WebServer() as server:
        server.pages["/"] = html(PAGE)
        yield server


# --- size and time


def test_a_gigabyte_announced_is_not_read(web):
    web.pages["/"] = reply(b"x", length=1_000_000_000)
    assert refusal(fetcher(web), web.url("/")) == "127.0.0.1 sends more than 5 MB"


def test_a_gigabyte_not_announced_ends_at_the_limit(web):
    web.pages["/"] = drip(b"x" * 65536, 0)
    assert refusal(fetcher(web, bytes=300_000, seconds=SOON), web.url("/")) == "127.0.0.1 sends more than 0.3 MB"


def test_a_gigabyte_in_chunks_ends_at_the_limit(web):
    chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    web.pages["/"] = drip(chunk, 0, before=head(headers=[("Transfer-Encoding", "chunked")]))
    assert "sends more than" in refusal(fetcher(web, bytes=300_000, seconds=SOON), web.url("/"))


@pytest.mark.parametrize("part", ["connect", "status", "header", "body"])
def test_a_slow_drip_ends_in_time(web, part):
    web.pages["/"] = {
        "connect": silence,
        "status": drip(b"x", 0.02, before=b"HTTP/1.1 200 O"),
        "header": drip(b"x", 0.02, before=b"HTTP/1.1 200 OK\r\nX-Slow: "),
        "body": drip(b"x", 0.02),
    }[part]
    began = time.monotonic()
    assert refusal(fetcher(web, seconds=0.3), web.url("/")) == "127.0.0.1 took longer than 0.3 s"
    assert time.monotonic() - began < SOON


def test_time_is_counted_over_redirects(web):
    def slow(wire):
        wire.wait(0.2)
        wire.write(head(302, headers=[("Location", f"/{len(web.requests)}")], length=0))

    web.pages |= {"/": slow} | {f"/{number}": slow for number in range(20)}
    assert "took longer than" in refusal(fetcher(web, seconds=0.5, redirects=100), web.url("/"))


def test_a_look_up_that_hangs_is_left_behind(web):
    woken = threading.Event()

    def resolve(host, port):
        woken.wait(SOON)
        return []

    assert refusal(Fetcher(FetchLimits(seconds=0.2), resolve), "https://example.org/") == (
        "example.org took longer than 0.2 s"
    )
    woken.set()


@pytest.mark.parametrize("page", [silence, drip(b"x", 0.02), drip(b"x", 0.02, before=b"HTTP/1.1 200 OK\r\nX-Slow: ")])
def test_the_connection_of_a_late_page_is_closed(web, page):
    web.pages["/"] = page
    refusal(fetcher(web, seconds=0.2), web.url("/"))
    for thread in threading.enumerate():
        if thread.name == "fetch":
            thread.join(SOON)
            assert not thread.is_alive()


def test_endless_headers_end(web):
    web.pages["/"] = drip(b"X-More: " + b"x" * 1000 + b"\r\n", 0, before=b"HTTP/1.1 200 OK\r\n")
    assert "does not speak HTTP" in refusal(fetcher(web, seconds=SOON), web.url("/"))


# --- stopping


def test_stopping_ends_a_fetch_at_once(web):
    web.pages["/"] = drip(b"x", 0.02)
    stop = Cancel()
    threading.Timer(0.2, stop.stop).start()
    began = time.monotonic()
    with cancel.scope(stop), pytest.raises(Stopped):
        fetcher(web, seconds=SOON).fetch(web.url("/"))
    assert time.monotonic() - began < SOON


def test_the_clock_of_the_question_ends_a_fetch(web):
    web.pages["/"] = silence
    with cancel.scope(Cancel(0.2)), pytest.raises(DeadlineExceeded):
        fetcher(web, seconds=SOON).fetch(web.url("/"))


def test_nothing_is_asked_once_stopped(web):
    stop = Cancel()
    stop.stop()
    with cancel.scope(stop), pytest.raises(Stopped):
        fetcher(web).fetch(web.url("/"))
    assert not web.requests


def test_several_threads_share_a_fetcher(web):
    fetch, found = fetcher(web), []
    threads = [threading.Thread(target=lambda: found.append(fetch.fetch(web.url("/")).body)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [PAGE.encode()] * 6


# --- compressed


def raw_deflate(data):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("identity", bytes),
        ("", bytes),
    ],
)
@pytest.mark.parametrize("size", [1, 1500, 3_000_000])
def test_compressed_pages(web, encoding, pack, size):
    body = random.Random(0).randbytes(size // 3).hex().encode()[:size] or b"x"
    packed = pack(body)

    def answer(wire):
        wire.write(head(headers=[("Content-Encoding", encoding)], length=len(packed)))
        for start in range(0, len(packed[:5])):
            wire.write(packed[start : start + 1])
        wire.write(packed[5:])

    web.pages["/"] = answer
    assert fetcher(web, seconds=SOON).fetch(web.url("/")).body == body


def test_a_page_that_shrinks_well_is_read_whole(web):
    body = (PAGE * 40_000).encode()
    web.pages["/"] = reply(gzip.compress(body), headers=[("Content-Encoding", "gzip")])
    assert fetcher(web, ratio=2000).fetch(web.url("/")).body == body


@pytest.mark.parametrize(
    ("limits", "line"),
    [
        ({}, "127.0.0.1 sends a page that grows more than 100 times"),
        ({"ratio": 2000}, "127.0.0.1 sends a page of more than 20 MB"),
        ({"ratio": 2000, "unpacked": 500_000}, "127.0.0.1 sends a page of more than 0.5 MB"),
    ],
)
def test_a_bomb_is_not_unpacked(web, limits, line):
    web.pages["/"] = reply(gzip.compress(bytes(60_000_000), 1), headers=[("Content-Encoding", "gzip")])
    assert refusal(fetcher(web, seconds=SOON, **limits), web.url("/")) == line


def test_a_bomb_takes_no_memory(web):
    packed = gzip.compress(bytes(60_000_000), 1)
    web.pages["/"] = reply(packed, headers=[("Content-Encoding", "gzip")])
    fetch = fetcher(web, seconds=SOON)
    tracemalloc.start()
    try:
        refusal(fetch, web.url("/"))
        assert tracemalloc.get_traced_memory()[1] < 16_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "gzip, deflate", "compress", "\x1b[31mred"])
def test_other_encodings_are_refused_by_name(web, encoding):
    web.pages["/"] = reply(b"whatever", headers=[("Content-Encoding", encoding)])
    line = refusal(fetcher(web), web.url("/"))
    assert "not read" in line or "does not speak HTTP" in line


@pytest.mark.parametrize(
    "body",
    [gzip.compress(PAGE.encode() * 50, mtime=0)[:-20], b"no gzip at all", b"x", b"\x1f\x8b\x08\x00"],
    ids=["cut off", "text", "one letter", "head alone"],
)
def test_damaged_pages(web, body):
    web.pages["/"] = reply(body, headers=[("Content-Encoding", "gzip")])
    assert refusal(fetcher(web), web.url("/")) == "127.0.0.1 sends a damaged page"
