"""Web search: ddgs's real request and parser, in the real child process, against a result page on loopback."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import time

import pytest
from support.search_page import SearchPage

from local_rag.config.settings import Settings
from local_rag.config.values import ENGINES as NAMED_ENGINES
from local_rag.config.values import Web
from local_rag.core import cancel
from local_rag.core.documents import WebPage
from local_rag.core.errors import ConfigError, DeadlineExceeded, LocalRagError, Stopped
from local_rag.core.events import WebQuery
from local_rag.server.event_view import EventViews
from local_rag.terminal.console import SafeConsole
from local_rag.terminal.question_display import QuestionDisplay
from local_rag.web import ddgs_process, page_documents, search
from local_rag.web.search import DdgsSearch
from local_rag.web.search_cache import SearchCache

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="file modes")
GREENHOUSE = ("Greenhouses", "https://garden.test/greenhouse", "A greenhouse costs 4,200 euros.")
FENCE = ("Fences", "https://garden.test/fence/oak", "An oak fence lasts for twenty years.")
SHED = ("Sheds", "http://shed.test/", "A shed needs no permit.")


def web_page(url, title, date, text):
    return WebPage(url, title, text, date)


@pytest.fixture
def page():
    with SearchPage(GREENHOUSE, FENCE, SHED) as server:
        yield server


def searching(page, folder, read_page=None, **settings):
    return DdgsSearch(Web(**settings), folder, read_page, [*ddgs_process.COMMAND, "--search-url", page.url])


def child(code):
    """A child process that runs other code."""
    return [sys.executable, "-I", "-c", code]


def logged(folder):
    return [json.loads(line) for line in (folder / search.QUERY_LOG).read_text(encoding="utf-8").splitlines()]


# --- what is asked, and what is made of the page ---------------------------------------------------------------


def test_a_search_posts_the_words_and_its_snippets_are_documents(page, tmp_path):
    web = searching(page, tmp_path)
    results = web.search("cost of a greenhouse", 2)
    assert page.asked == [{"q": "cost of a greenhouse", "b": "", "l": "wt-wt"}]
    assert results.notes == ()
    assert [document.page_content for document in results.documents] == [GREENHOUSE[2], FENCE[2]]
    about = results.documents[1].metadata
    assert about.keys() == page_documents.METADATA
    assert about == about | {
        "source": "garden.test/fence/oak",
        "title": "Fences",
        "page": None,
        "heading": "",
        "start": 0,
        "end": len(FENCE[2]),
        "score": 0.0,
        "rank_score": 1 / 62,
        "origin": "web",
        "url": "https://garden.test/fence/oak",
        "date": "",
    }
    assert len({document.metadata["chunk_id"] for document in results.documents}) == 2
    assert (web.enabled, web.engine) == (True, "duckduckgo")


def test_links_stay_as_they_stand_in_the_page_and_what_cannot_be_opened_is_left_out(page, tmp_path):
    page.results = [
        ("kept", "https://a.test/c%23/x%20y?q=1%262", "b"),
        ("twice", "https://a.test/c%23/x%20y?q=1%262#below", "b"),
        ("an advertisement", "https://duckduckgo.com/y.js?ad=1", "b"),
        ("the engine's redirect", "//duckduckgo.com/l/?uddg=https%3A%2F%2Fb.test%2Fp%3Fx%3D1&rut=abc", "b"),
        ("relative", "/settings", "b"),
        ("script", "javascript:alert(1)", "b"),
        ("file", "file:///etc/passwd", "b"),
        ("no host", "https:///path", "b"),
        ("broken", "https://[::1/", "b"),
    ]
    results = searching(page, tmp_path).search("links", 9)
    assert [document.metadata["url"] for document in results.documents] == [
        "https://a.test/c%23/x%20y?q=1%262",
        "https://b.test/p?x=1",
    ]


def test_text_of_the_page_cannot_drive_a_terminal(page, tmp_path):
    page.results = [("red \x1b[31malert\x07", "https://a.test/", "one\x1b]0;title\x07 two\u202egnp.exe\nthree")]
    (document,) = searching(page, tmp_path).search("colours", 1).documents
    for text in (document.metadata["title"], document.page_content):
        assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text
    assert "\n" not in document.page_content


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("  one\n two\t three ", "one two three"),
        ("colour \x1b[31mred\x1b[0m", "colour red"),
        ("word " * 60, ("word " * 40).strip()),
        ("x" * 300, "x" * 200),
        ("half \ud800 pair", "half ? pair"),
    ],
)
def test_one_line_of_200_characters_leaves(tmp_path, query, sent):
    assert DdgsSearch(Web(), tmp_path).words(query) == sent


HIDDEN = [
    *"\x00\x07\x1b\x7f\x85\xad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u202a\u202e\u2060\u2066\u2069",
    *"\u2800\u3164\ue000\ufe0f\ufeff\uffa0\ufff9\U00013442\U00016fe4\U0001d159\U0001d173\U000e0041\U000e0100",
]


def test_what_leaves_is_what_a_person_is_shown(page, tmp_path):
    web, out = searching(page, tmp_path), io.StringIO()
    query = WebQuery(web.words(f"the price {''.join(HIDDEN)} of a gate"), web.engine)
    assert query.query == "the price of a gate"
    QuestionDisplay(SafeConsole(out, width=300)).may_search(query)
    assert out.getvalue() == f"asking duckduckgo: {query.query}\n"
    (_, view), *_ = EventViews(str, asks=True)(query)
    assert view["query"] == query.query
    web.search(query.query, 1)
    assert page.asked[0]["q"] == query.query == logged(tmp_path)[0]["query"]


@pytest.mark.parametrize("hidden", HIDDEN)
def test_no_hidden_character_leaves(tmp_path, hidden):
    assert DdgsSearch(Web(), tmp_path).words(f"{hidden}the {hidden}gate {hidden} way{hidden}") == "the gate way"


@pytest.mark.parametrize(("query", "k"), [("", 3), (" \n", 3), ("words", 0)])
def test_nothing_to_ask_is_not_asked(page, tmp_path, query, k):
    results = searching(page, tmp_path).search(query, k)
    assert not results.documents and results.notes and not page.asked


def test_the_next_engine_is_asked_only_where_the_one_before_had_nothing(page, tmp_path):
    web = searching(page, tmp_path, engines=("mojeek", "duckduckgo", "brave"))
    results = web.search("greenhouse", 1)
    assert len(results.documents) == 1 and results.notes == ("mojeek found nothing: try other words",)
    assert [row["engines"] for row in logged(tmp_path)] == [["mojeek"], ["duckduckgo"]]
    assert len(page.asked) == 2 and web.engine == "mojeek, duckduckgo, brave"


# --- settings ------------------------------------------------------------------------------------------------


def test_the_engines_are_those_of_the_installed_library():
    code = "from ddgs.engines import ENGINES; print(*sorted(ENGINES['text']))"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert tuple(listed.split()) == NAMED_ENGINES


def test_an_unknown_engine_is_refused_with_the_list():
    with pytest.raises(ConfigError, match="gogle is no search engine") as caught:
        Settings.load(web__engines="duckduckgo, gogle")
    assert all(name in str(caught.value) for name in NAMED_ENGINES)
    with pytest.raises(ConfigError, match="none is no search engine"):
        Settings.load(web__engines="")
    assert Web(engines="mojeek, duckduckgo, mojeek").engines == ("mojeek", "duckduckgo")
    for region in ("evil.test/", "us", "US-EN"):
        with pytest.raises(ValueError, match="region"):
            Web(region=region)


# --- what leaves, and how ------------------------------------------------------------------------------------


def test_the_words_are_in_the_log_before_they_leave(page, tmp_path):
    folder = tmp_path / "data" / "deep"
    seen = []
    page.when_asked = lambda: seen.append(logged(folder))
    searching(page, folder).search("the  whole\nquestion", 1)
    (rows,) = seen
    (row,) = rows
    assert row["query"] == page.asked[0]["q"] == "the whole question" and row["engines"] == ["duckduckgo"]
    assert row["time"][:2] == "20" and row["time"][-6] in "+-"


@POSIX
def test_the_log_is_for_its_owner_only(page, tmp_path):
    log = tmp_path / search.QUERY_LOG
    log.write_text("")
    log.chmod(0o644)
    searching(page, tmp_path).search("greenhouse", 1)
    assert log.stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_logged_is_not_sent(page, tmp_path):
    (tmp_path / search.QUERY_LOG).mkdir()
    results = searching(page, tmp_path).search("greenhouse", 1)
    assert not results.documents and not page.asked
    assert "cannot be logged" in results.notes[0] and str(tmp_path / search.QUERY_LOG) in results.notes[0]


def test_proxies_of_the_environment_are_not_used(page, tmp_path, monkeypatch):
    with SearchPage() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy", "DDGS_PROXY"):
            monkeypatch.setenv(name, proxy.root)
        monkeypatch.setenv("NO_PROXY", "")
        assert searching(page, tmp_path).search("greenhouse", 1).documents
        assert not proxy.asked and len(page.asked) == 1


def test_a_proxy_that_is_found_anyhow_is_not_used(page, tmp_path):
    """As if it came from the system's settings: the variable is set inside the child."""
    with SearchPage() as proxy:
        code = f"""
import os, runpy, sys
os.environ["ALL_PROXY"] = os.environ["HTTP_PROXY"] = {proxy.root!r}
sys.argv[1:] = ["--search-url", {page.url!r}]
runpy.run_path({ddgs_process.COMMAND[-1]!r}, run_name="__main__")
"""
        assert DdgsSearch(Web(), tmp_path, None, child(code)).search("greenhouse", 1).documents
        assert not proxy.asked and len(page.asked) == 1


def test_the_child_gets_hardly_any_environment(tmp_path, monkeypatch):
    for name in ("PYTHONPATH", "SSL_CERT_FILE", "RUST_LOG", "LOCAL_RAG_DEBUG", "AWS_SECRET_ACCESS_KEY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    code = "import json, os; print(json.dumps({'results': [{'href': 'http://a.test/', 'body': ' '.join(os.environ)}]}))"
    (document,) = DdgsSearch(Web(), tmp_path, None, child(code)).search("greenhouse", 1).documents
    names = set(document.page_content.split())
    assert {"PATH", "LC_ALL", "NO_PROXY"} <= names
    assert names <= ddgs_process.KEPT | {"LC_ALL", "LC_CTYPE", "NO_PROXY"}


@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_of_the_result_page_is_not_followed(page, tmp_path, status):
    with SearchPage(SHED) as elsewhere:
        page.statuses, page.location = [status], elsewhere.url
        results = searching(page, tmp_path).search("greenhouse", 1)
        assert not results.documents and not elsewhere.asked
    assert f"HTTP {status}" in results.notes[0] and "not followed" in results.notes[0]


def test_the_library_is_never_loaded_in_this_process(page, tmp_path):
    assert searching(page, tmp_path).search("greenhouse", 1).documents
    assert not {"ddgs", "primp"} & set(sys.modules)


def test_the_seam_for_tests_leads_nowhere_but_here(page, tmp_path):
    command = [*ddgs_process.COMMAND, "--search-url", "http://search.test/"]
    results = DdgsSearch(Web(), tmp_path, None, command).search("greenhouse", 1)
    assert not results.documents and "--search-url takes http://127.0.0.1:PORT" in results.notes[0]
    assert "--search-url" not in ddgs_process.COMMAND
    for engine in ("wikipedia", "yahoo", "startpage"):
        (note,) = searching(page, tmp_path, engines=(engine,)).search("greenhouse", 1).notes
        assert "a test asked for https://" in note


# --- faults: fewer documents and a note, never an error or a hang ------------------------------------------------


@pytest.mark.parametrize(
    ("statuses", "tries", "note"),
    [([202, 429], 3, ()), ([202] * 9, 4, ("duckduckgo takes no more searches for now (HTTP 202): wait some minutes",))],
)
def test_too_many_searches_are_tried_again(page, tmp_path, monkeypatch, statuses, tries, note):
    monkeypatch.setattr(search, "PAUSES", (0.0, 0.01, 0.01, 0.01))
    page.statuses = statuses
    results = searching(page, tmp_path).search("greenhouse", 1)
    assert len(page.asked) == len(logged(tmp_path)) == tries
    assert results.notes == note and bool(results.documents) == (not note)


def test_no_pause_goes_beyond_the_deadline(page, tmp_path, monkeypatch):
    monkeypatch.setattr(search, "PAUSES", (0.0, 60.0))
    page.statuses = [202] * 9
    results = searching(page, tmp_path).search("greenhouse", 1)
    assert len(page.asked) == 1 and "HTTP 202" in results.notes[0]


def test_where_one_engine_takes_no_more_the_next_is_asked_at_once(page, tmp_path):
    page.statuses = [429]
    results = searching(page, tmp_path, engines=("brave", "duckduckgo")).search("greenhouse", 1)
    assert results.documents and results.notes == (
        "brave takes no more searches for now (HTTP 429): wait some minutes",
    )


@pytest.mark.parametrize("status", [403, 500])
def test_a_refusal_is_not_tried_again(page, tmp_path, status):
    page.statuses = [status]
    results = searching(page, tmp_path).search("greenhouse", 1)
    assert not results.documents and len(page.asked) == 1
    assert results.notes == (f"duckduckgo refused the search (HTTP {status}): try later, or set web.engines",)


def test_nothing_found(page, tmp_path):
    page.results = []
    assert searching(page, tmp_path).search("greenhouse", 1).notes == ("duckduckgo found nothing: try other words",)


def test_an_engine_that_does_not_answer_is_left_at_the_deadline(page, tmp_path):
    page.hold = True
    started = time.monotonic()
    results = searching(page, tmp_path, seconds=0.5).search("greenhouse", 1)
    assert results.notes == (ddgs_process.late("duckduckgo"),) and not results.documents
    assert time.monotonic() - started < 60


def test_an_engine_that_cannot_be_reached(page, tmp_path):
    with SearchPage() as gone:
        pass
    (note,) = searching(gone, tmp_path).search("greenhouse", 1).notes
    assert note.startswith("duckduckgo cannot be reached: is this machine online? (") and "\n" not in note


@pytest.mark.parametrize(
    ("code", "note"),
    [
        ("import sys; sys.exit('Traceback\\nBoom: \\x1b[31mno')", "ended with exit code 1: update ddgs (Boom: no)"),
        ("import os; os.abort()", "ended with exit code"),
        ("print('<html>')", "gave no usable reply"),
        ("print('{\"results\": [')", "gave no usable reply"),
        ("print('[' * 100000)", "gave no usable reply"),
        ("", "gave no usable reply"),
        ("print('[]')", "gave no usable reply"),
        ("print('{}')", "failed"),
        ("import sys; sys.stdout.buffer.write(bytes(range(256)))", "gave no usable reply"),
    ],
)
def test_a_child_that_fails_is_one_note(tmp_path, code, note):
    results = DdgsSearch(Web(), tmp_path, None, child(code)).search("greenhouse", 1)
    assert not results.documents and len(results.notes) == 1
    assert note in results.notes[0] and results.notes[0].isprintable()


def test_what_the_library_prints_is_no_reply(page, tmp_path):
    code = f"""
import os, runpy, sys
sys.addaudithook(lambda event, about: event == "import" and about[0].startswith("ddgs") and os.write(1, b"hello"))
sys.argv[1:] = ["--search-url", {page.url!r}]
runpy.run_path({ddgs_process.COMMAND[-1]!r}, run_name="__main__")
"""
    assert DdgsSearch(Web(), tmp_path, None, child(code)).search("greenhouse", 1).documents


def test_an_engine_that_another_version_of_the_library_lacks_is_not_replaced_by_all(page, tmp_path):
    code = f"""
import runpy, sys
from ddgs.engines import ENGINES
del ENGINES["text"]["duckduckgo"]
for one in ENGINES["text"].values():
    one.search_url = {page.url!r}
sys.argv[1:] = ["--search-url", {page.url!r}]
runpy.run_path({ddgs_process.COMMAND[-1]!r}, run_name="__main__")
"""
    (note,) = DdgsSearch(Web(), tmp_path, None, child(code)).search("greenhouse", 1).notes
    assert "no such engine" in note and not page.asked


def test_a_child_that_cannot_be_started(tmp_path):
    (note,) = DdgsSearch(Web(), tmp_path, None, [str(tmp_path / "nothing")]).search("greenhouse", 1).notes
    assert "could not be started" in note


def test_without_the_library_the_note_says_what_to_install(page, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    command = [sys.executable, "-I", "-S", ddgs_process.COMMAND[-1], "--search-url", page.url]
    (note,) = DdgsSearch(Web(), tmp_path, None, command).search("greenhouse", 1).notes
    assert note == "searching the web needs the package ddgs: pip install ddgs" and not page.asked


@pytest.mark.parametrize(
    "found",
    [
        "an error in words",
        None,
        {},
        [],
        ["https://a.test/"],
        [None, 3, []],
        [{}],
        [{"title": "no link", "body": "b"}],
        [{"href": 7}],
        [{"href": "https://a.test/" + "x" * 3000}],
        [{"href": "https://a.test/\ud800"}],
        [{"href": "https://a.test/\u202egpj"}],
    ],
)
def test_replies_without_a_usable_result(found):
    reply = ddgs_process.engine_reply(
        {"results": found, "seen": [200], "error": "DDGSException: No results found."}, "duckduckgo"
    )
    assert reply == ddgs_process.EngineReply(trouble="duckduckgo found nothing: try other words")


@pytest.mark.parametrize("seen", [None, "200", [], [None], [[]], [{}], [True]])
def test_replies_that_do_not_say_what_happened(seen):
    reply = ddgs_process.engine_reply({"results": [], "seen": seen, "error": ["?"]}, "duckduckgo")
    assert reply.trouble and not reply.results and not reply.limited


@pytest.mark.parametrize(
    ("error", "limited", "trouble"),
    [
        ("RatelimitException: slow down", True, "takes no more searches"),
        ("TimeoutException: x", False, "did not answer in time"),
        ("DDGSException: operation timed out", False, "did not answer in time"),
        ("TypeError: text() got an unexpected keyword", False, "update ddgs"),
    ],
)
def test_what_the_library_raises_by_name(error, limited, trouble):
    reply = ddgs_process.engine_reply({"results": [], "seen": [], "error": error}, "duckduckgo")
    assert reply.limited is limited and trouble in reply.trouble


def test_missing_and_endless_fields_of_a_result():
    long = "word " * 5000
    said = {"results": [{"href": "https://a.test/"}, {"href": "https://b.test/", "title": long, "body": long}]}
    bare, full = ddgs_process.engine_reply(said, "duckduckgo").results
    assert (bare.title, bare.body) == ("", "")
    assert len(full.title) <= ddgs_process.TITLE and len(full.body) <= ddgs_process.BODY


# --- stopping --------------------------------------------------------------------------------------------------


def test_a_search_that_waits_can_be_stopped(page, tmp_path):
    page.hold = True
    run = cancel.Cancel()
    page.when_asked = run.stop
    with cancel.scope(run), pytest.raises(Stopped):
        searching(page, tmp_path).search("greenhouse", 1)


def test_the_clock_of_the_run_ends_a_search(page, tmp_path):
    page.hold = True
    with cancel.scope(cancel.Cancel(0.5)), pytest.raises(DeadlineExceeded):
        searching(page, tmp_path).search("greenhouse", 1)


def test_a_pause_between_tries_can_be_stopped(page, tmp_path):
    page.statuses = [202] * 9
    run = cancel.Cancel()
    page.when_asked = lambda: threading.Timer(0.3, run.stop).start()
    with cancel.scope(run), pytest.raises(Stopped):
        searching(page, tmp_path).search("greenhouse", 1)


# --- pages -------------------------------------------------------------------------------------------------------


def test_pages_are_read_and_one_that_cannot_be_leaves_its_snippet(page, tmp_path):
    def read_page(url):
        cancel.check()
        if url == FENCE[1]:
            raise LocalRagError("refused: 403 Forbidden")
        if url == SHED[1]:
            raise RuntimeError("a parser\nfell over")
        return web_page("https://garden.test/new", "Greenhouses \x1b[1mtoday", "2026-05-01", "Glass\n\ncosts 90.\x07")

    results = searching(page, tmp_path, read_page).search("greenhouse", 3)
    first, second, third = results.documents
    assert first.page_content == "Glass\n\ncosts 90." and first.metadata["end"] == len(first.page_content)
    assert first.metadata["url"] == "https://garden.test/new" and first.metadata["title"] == "Greenhouses today"
    assert first.metadata["date"] == "2026-05-01" and first.metadata["source"] == "garden.test/new"
    assert (second.page_content, third.page_content) == (FENCE[2], SHED[2])
    assert results.notes == (
        f"{FENCE[1]}: refused: 403 Forbidden; its snippet is used",
        f"{SHED[1]}: cannot be read (RuntimeError: a parser fell over); its snippet is used",
    )


def test_search_page_fetcher_and_reader_together(page, tmp_path):
    from support.web_server import WebServer, reply

    from local_rag.web.extraction import extract as read
    from local_rag.web.fetch import Fetcher

    with WebServer() as web:
        fetch = Fetcher(allow=[web.netloc])
        text = "<title>Glass</title><p>A greenhouse of glass costs 4,200 euros, and lasts for a lifetime.</p>"
        web.pages["/glass"] = reply(text.encode())
        page.results = [("Glass", web.url("/glass"), "short"), ("Gone", web.url("/gone"), "the snippet")]
        results = searching(page, tmp_path, lambda url: read(fetch.fetch(url))).search("greenhouse", 2)
    first, second = results.documents
    assert "4,200 euros" in first.page_content and first.metadata["url"] == web.url("/glass")
    assert second.page_content == "the snippet"
    assert len(results.notes) == 1 and "404" in results.notes[0] and "its snippet is used" in results.notes[0]


def lines(count, body="snippet"):
    return [ddgs_process.SearchResult(f"https://a.test/{number}", "title", body) for number in range(count)]


def test_two_links_to_one_page_are_one_document():
    made, notes = page_documents.documents(lines(3), lambda url: web_page("https://a.test/", "t", "", "text"), 5)
    assert [document.metadata["rank_score"] for document in made] == [1 / 61] and not notes


def test_a_page_without_text_and_without_snippet_is_none():
    def read_page(url):
        raise LocalRagError("no readable text")

    made, notes = page_documents.documents(lines(1, body=""), read_page, 5)
    assert not made and notes == ["https://a.test/0: no readable text; nothing of it is used"]


def test_at_most_three_pages_are_read_at_once():
    now, most, lock = 0, 0, threading.Lock()

    def read_page(url):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1
        return web_page(url, "t", "", "text")

    made, _ = page_documents.documents(lines(8), read_page, 5)
    assert most <= page_documents.THREADS and [document.metadata["url"] for document in made] == [
        result.url for result in lines(8)
    ]


def test_a_page_that_hangs_is_left_behind(monkeypatch):
    monkeypatch.setattr(page_documents, "GRACE", 0.1)
    end = threading.Event()

    def read_page(url):
        if url.endswith("/1"):
            end.wait(20)
        return web_page(url, "t", "", "text")

    made, notes = page_documents.documents(lines(3), read_page, 0.5)
    end.set()
    assert [document.page_content for document in made] == ["text", "snippet", "text"]
    assert notes == ["https://a.test/1: took longer than 0.5 s to read; its snippet is used"]


def test_reading_pages_can_be_stopped():
    run, end = cancel.Cancel(), threading.Event()

    def read_page(url):
        run.stop()
        end.wait(20)
        cancel.check()

    with cancel.scope(run), pytest.raises(Stopped):
        page_documents.documents(lines(2), read_page, 20)
    end.set()


def test_a_stop_that_only_a_page_saw_is_passed_on():
    def read_page(url):
        raise DeadlineExceeded("out of time")

    with pytest.raises(DeadlineExceeded):
        page_documents.documents(lines(2), read_page, 20)


def test_an_endless_page_is_cut_with_a_note():
    (document,), notes = page_documents.documents(lines(1), lambda url: web_page(url, "t", "", "x" * 200_000), 5)
    assert len(document.page_content) == page_documents.TEXT == document.metadata["end"]
    assert notes == ["https://a.test/0: only its first 100,000 characters are used"]


# --- the cache -----------------------------------------------------------------------------------------------------


def test_what_was_found_is_found_again_without_asking(page, tmp_path):
    read = []

    def read_page(url):
        read.append(url)
        return web_page(url, "t", "2026-05-01", "text")

    first = searching(page, tmp_path, read_page).search("Cost of a greenhouse", 2)
    again = searching(page, tmp_path, read_page).search("cost  of a GREENHOUSE", 2)
    assert again.documents == first.documents and len(page.asked) == 1 and len(read) == 2
    (note,) = again.notes
    assert note.startswith("from the cache of 20") and note.endswith(": nothing left this machine")
    assert len(logged(tmp_path)) == 1


def test_another_question_is_asked(page, tmp_path):
    searching(page, tmp_path).search("greenhouse", 2)
    searching(page, tmp_path).search("greenhouse", 1)
    searching(page, tmp_path, region="us-en").search("greenhouse", 2)
    searching(page, tmp_path, cache_hours=0).search("greenhouse", 2)
    assert len(page.asked) == 4


def test_nothing_is_not_kept(page, tmp_path):
    page.statuses = [403]
    assert not searching(page, tmp_path).search("greenhouse", 2).documents
    assert searching(page, tmp_path).search("greenhouse", 2).documents


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[]", b'{"time": null, "value": 1}', b'{"time": NOW}', b"[" * 100_000]
)
def test_a_damaged_entry_is_a_miss(tmp_path, content):
    cache = SearchCache(tmp_path, hours=1)
    cache.put("value", "q")
    (kept,) = cache.folder.iterdir()
    kept.write_bytes(content.replace(b"NOW", str(time.time()).encode()))
    assert cache.get("q") is None


@pytest.mark.parametrize(
    "value",
    [
        {"documents": [{"text": 1, "metadata": {}}], "notes": []},
        *(
            pytest.param(value, marks=pytest.mark.slow)
            for value in (
                {"documents": [{"text": "t", "metadata": {"url": "x"}}], "notes": []},
                {"documents": [], "notes": []},
                {"documents": "no", "notes": 3},
            )
        ),
    ],
    ids=["text", "metadata", "nothing", "types"],
)
def test_an_entry_of_something_else_is_a_miss(page, tmp_path, value):
    web = searching(page, tmp_path)
    web.search("greenhouse", 2)
    (kept,) = (tmp_path / "web-cache").iterdir()
    kept.write_text(json.dumps({"time": time.time(), "value": value}))
    results = web.search("greenhouse", 2)
    assert len(results.documents) == 2 and len(page.asked) == 2 and not results.notes


def test_an_entry_ends_and_one_of_the_future_does_not_count(tmp_path):
    cache = SearchCache(tmp_path, hours=1)
    cache.put({"a": 1}, "q", 3)
    kept, value = cache.get("q", 3)
    assert value == {"a": 1} and abs(time.time() - kept) < 60 and cache.get("q", 4) is None
    (path,) = cache.folder.iterdir()
    for seconds in (-3601, 3600):
        path.write_text(json.dumps({"time": time.time() + seconds, "value": {}}))
        assert cache.get("q", 3) is None


def test_the_oldest_entries_go(tmp_path):
    cache = SearchCache(tmp_path, hours=1, entries=3)
    for number in range(6):
        cache.put(number, number)
        (path,) = [file for file in cache.folder.iterdir() if json.loads(file.read_text())["value"] == number]
        os.utime(path, (time.time() - 60 + number,) * 2)
    assert [number for number in range(6) if cache.get(number)] == [3, 4, 5]
    for path in cache.folder.iterdir():
        os.utime(path, (0, 0))
    cache.put("new", "new")
    assert len(list(cache.folder.iterdir())) == 1


@POSIX
def test_the_cache_is_for_its_owner_only(tmp_path):
    cache = SearchCache(tmp_path, hours=1)
    cache.put("value", "q")
    (path,) = cache.folder.iterdir()
    assert cache.folder.stat().st_mode & 0o777 == 0o700 and path.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_takes_nothing_costs_only_the_cache(page, tmp_path):
    (tmp_path / "web-cache").write_text("in the way")
    results = searching(page, tmp_path).search("greenhouse", 1)
    assert results.documents and not results.notes
