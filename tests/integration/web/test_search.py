"""Test web search: ddgs's real request and parser, in the real child process, against a result page on loopback."""

import json
import subprocess
import sys

import pytest
from support.web_server import SearchPage

from local_rag.config.settings import Settings
from local_rag.config.values import ENGINES, Web
from local_rag.core import cancel, child_process
from local_rag.core.child_process import Finished
from local_rag.core.errors import ConfigError, DeadlineExceeded, FileSkipped, Stopped
from local_rag.web import search
from local_rag.web.search import DdgsSearch

GREENHOUSE = ("Greenhouses", "https://garden.test/greenhouse", "A greenhouse costs 4,200 euros.")
FENCE = ("Fences", "https://garden.test/fence/oak", "An oak fence lasts for twenty years.")
OK = {"status": 200, "results": [["https://a.test/", "A", "a snippet"]], "error": ""}
NONE = OK | {"results": []}


def unread(url):
    raise FileSkipped("not read")


@pytest.fixture
def page(monkeypatch):
    with SearchPage(GREENHOUSE, FENCE) as server:
        monkeypatch.setattr(search, "COMMAND", server.command)
        yield server


def searching(folder, seconds=60, **settings):
    return DdgsSearch(Web(seconds=seconds, **settings), folder, unread)


def logged(folder):
    return [json.loads(line) for line in (folder / search.QUERY_LOG).read_text().splitlines()]


# --- the real process -----------------------------------------------------------------------------------------------


def test_a_search_posts_the_logged_words_and_nobody_else_hears_them(page, tmp_path, monkeypatch):
    """Check that no proxy is used, from the environment or found by the child, and that ddgs is not loaded here."""
    folder, seen = tmp_path / "data" / "deep", []
    page.when_asked = lambda: seen.append(logged(folder))
    with SearchPage() as proxy:
        for name in "HTTP_PROXY http_proxy HTTPS_PROXY ALL_PROXY all_proxy DDGS_PROXY".split():
            monkeypatch.setenv(name, proxy.url())
        monkeypatch.setenv("NO_PROXY", "")
        monkeypatch.setattr(search, "COMMAND", (*page.command, proxy.url()))
        results = searching(folder).search("  cost of\n a greenhouse", 2)
        assert not proxy.asked
    assert page.asked == [{"q": "cost of a greenhouse", "b": "", "l": "wt-wt"}]
    assert [document.page_content for document in results.documents] == [GREENHOUSE[2], FENCE[2]]
    assert [document.metadata["title"] for document in results.documents] == ["Greenhouses", "Fences"]
    ((row,),) = seen
    assert (row["query"], row["engines"], row["time"][:2]) == ("cost of a greenhouse", ["duckduckgo"], "20")
    assert not {"ddgs", "primp"} & set(sys.modules)


def test_a_redirect_is_not_followed_the_next_engine_is_asked_and_links_stay_as_they_stand(page, tmp_path):
    page.results = [("kept", "https://a.test/c%23/x%20y?q=1%262", "b")]
    with SearchPage(FENCE) as elsewhere:
        page.statuses, page.location = [307], elsewhere.url()
        results = searching(tmp_path, engines=("brave", "duckduckgo")).search("greenhouse", 1)
        assert not elsewhere.asked
    assert [document.metadata["url"] for document in results.documents] == ["https://a.test/c%23/x%20y?q=1%262"]
    assert results.notes[0] == "brave refused the search (HTTP 307): try later, or set web.engines"


def test_a_search_that_waits_is_stopped(page, tmp_path):
    page.hold = True
    run = cancel.Cancel()
    page.when_asked = run.stop
    with cancel.scope(run), pytest.raises(Stopped):
        searching(tmp_path).search("greenhouse", 1)


@pytest.mark.slow
def test_an_engine_that_cannot_be_reached(page, tmp_path, monkeypatch):
    with SearchPage() as gone:
        monkeypatch.setattr(search, "COMMAND", gone.command)
    (note,) = searching(tmp_path).search("greenhouse", 1).notes
    assert note.startswith("duckduckgo cannot be reached: is this machine online? (") and note.isprintable()


def test_an_engine_that_another_version_of_the_library_lacks_is_not_replaced_by_all(page, tmp_path):
    (note,) = searching(tmp_path, engines=("wikipedia",)).search("greenhouse", 1).notes
    assert note == "the search of wikipedia failed: update ddgs (pip install -U ddgs) (KeyError: 'wikipedia')"
    assert not page.asked


# --- a reply, and what comes of it ----------------------------------------------------------------------------------

LIMITED = "duckduckgo takes no more searches for now (HTTP 202): wait some minutes"
UPDATE = "the search of duckduckgo failed: update ddgs (pip install -U ddgs)"
REPLIES = [
    ([OK], "a snippet"),
    ([OK | {"status": 403, "error": "of a second request"}], "a snippet"),
    ([NONE | {"status": 202}, NONE | {"status": 429}, OK], "a snippet"),
    ([NONE | {"status": 202}] * 3, LIMITED),
    ([NONE | {"status": 403}], "duckduckgo refused the search (HTTP 403): try later, or set web.engines"),
    ([NONE], "duckduckgo found nothing: try other words"),
    ([NONE | {"error": "IndexError: x\n\x1b[31my"}], f"{UPDATE} (IndexError: x y)"),
    ([NONE | {"status": 0, "error": "no\nroute"}], "duckduckgo cannot be reached: is this machine online? (no route)"),
    ([Finished(None, b"", b"")], "duckduckgo did not answer in time: try again, or allow more with web.seconds"),
    ([Finished(1, b"", b"Traceback\nBoom: \x1b[31mno")], f"{UPDATE} (Boom: no)"),
    ([Finished(-6, b"", b"")], f"{UPDATE} (exit code -6)"),
    ([OSError(2, "?")], "the process that searches could not be started (there is no such file or folder)"),
]


@pytest.fixture
def replies(monkeypatch):
    """Set the replies of the process that searches, one after the other."""
    left = []

    def run(command, request, seconds, env):
        reply = left.pop(0)
        if isinstance(reply, OSError):
            raise reply
        return reply if isinstance(reply, Finished) else Finished(0, json.dumps(reply).encode(), b"")

    monkeypatch.setattr(child_process, "run", run)
    monkeypatch.setattr(search, "PAUSES", (0.0, 0.01, 0.01))
    return left


@pytest.mark.parametrize(("said", "expected"), REPLIES, ids=[expected[:60] for _, expected in REPLIES])
def test_a_reply_and_what_comes_of_it(replies, tmp_path, said, expected):
    replies += said
    results = searching(tmp_path).search("greenhouse", 1)
    assert ([document.page_content for document in results.documents] or list(results.notes)) == [expected]
    assert not replies and len(logged(tmp_path)) == len(said)


def test_only_links_that_can_be_opened_are_used_and_their_text_cannot_drive_a_terminal(replies, tmp_path):
    links = """//duckduckgo.com/l/ /settings javascript:alert(1) file:///etc/passwd https:///path https://[::1/
    https://a.test/\u202egpj https://a.test/\ud800""".split()
    links.append("https://a.test/" + "x" * 3000)
    usable = [["https://a.test/a b#below", "red \x1b[31malert\x07\ud800", "one\u202egnp.exe\ntwo" + "x" * 3000]]
    replies.append(OK | {"results": [[link, "t", "b"] for link in links] + usable * 2})
    (document,) = searching(tmp_path).search("links", 9).documents
    assert (document.metadata["url"], document.metadata["title"]) == ("https://a.test/a%20b", "red alert?")
    assert document.page_content.startswith("onegnp.exe") and len(document.page_content) <= search.BODY
    assert document.page_content.isprintable()


def test_no_pause_goes_beyond_the_deadline_and_the_clock_of_the_run_ends_one(replies, tmp_path, monkeypatch):
    monkeypatch.setattr(search, "PAUSES", (0.0, 60.0))
    replies += [NONE | {"status": 202}] * 2
    assert searching(tmp_path, 10).search("greenhouse", 1).notes == (LIMITED,)
    with cancel.scope(cancel.Cancel(0.1)), pytest.raises(DeadlineExceeded):
        searching(tmp_path, 100).search("greenhouse", 1)


def test_the_process_gets_hardly_any_environment(tmp_path, monkeypatch):
    for name in "PYTHONSTARTUP SSL_CERT_FILE RUST_LOG LOCAL_RAG_DEBUG AWS_SECRET_ACCESS_KEY".split():
        monkeypatch.setenv(name, "secret")
    given = []
    monkeypatch.setattr(child_process, "run", lambda *arguments: given.append(arguments[3]) or Finished(None, b"", b""))
    searching(tmp_path).search("greenhouse", 1)
    assert {"PATH", "PYTHONPATH", "NO_PROXY"} <= set(given[0]) <= {*search.KEPT, "NO_PROXY"}


# --- what leaves ----------------------------------------------------------------------------------------------------

HIDDEN = [
    *"\x00\x07\x1b\x7f\x85\xad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u202a\u202e\u2060\u2066\u2069",
    *"\u2800\u3164\ue000\ufe0f\ufeff\uffa0\ufff9\U00013442\U00016fe4\U0001d159\U0001d173\U000e0041\U000e0100",
]


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("  one\n two\t three ", "one two three"),
        ("colour \x1b[31mred\x1b[0m", "colour red"),
        ("word " * 60, ("word " * 40).strip()),
        ("x" * 300, "x" * 200),
        ("half \ud800 pair", "half ? pair"),
        *((f"{hidden}the {hidden}gate {hidden} way{hidden}", "the gate way") for hidden in HIDDEN),
    ],
)
def test_one_line_of_200_characters_that_all_show_leaves(tmp_path, query, sent):
    assert searching(tmp_path).words(query) == sent


def test_what_cannot_be_logged_is_not_sent(replies, tmp_path):
    assert searching(tmp_path).search(" \n", 3).notes == ("there are no words to search the web for",)
    (tmp_path / search.QUERY_LOG).mkdir()
    (note,) = searching(tmp_path).search("greenhouse", 1).notes
    assert "cannot be logged" in note and str(tmp_path / search.QUERY_LOG) in note


def test_the_engines_are_those_of_the_installed_library():
    code = "from ddgs.engines import ENGINES; print(*sorted(ENGINES['text']))"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert tuple(listed.split()) == ENGINES
    with pytest.raises(ConfigError, match="gogle is no search engine"):
        Settings.load(web__engines="duckduckgo, gogle")
    with pytest.raises(ConfigError, match="none is no search engine"):
        Settings.load(web__engines="")
    assert Web(engines="mojeek, duckduckgo, mojeek").engines == ("mojeek", "duckduckgo")
    with pytest.raises(ValueError, match="region"):
        Web(region="evil.test/")
