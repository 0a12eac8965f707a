"""What is no file in an index: pages of the web, fetched when they are named, and texts under names of their own."""

import io
from functools import partial

import pytest
from support.fakes_index import HashingEmbedder, indexed
from support.files import done, told
from support.screen import shown as lines_shown
from support.web_server import WebServer, html, loopback, redirect, reply

from local_rag.config.settings import Settings
from local_rag.core.documents import Heading, LoadedDocument
from local_rag.core.errors import FileSkipped, IndexMismatch
from local_rag.index.index import Index
from local_rag.index.store.sqlite import connection
from local_rag.runtime import indexing
from local_rag.runtime.indexing import Request, index_files
from local_rag.terminal.console import SafeConsole, TerminalDisplay
from local_rag.terminal.index import report_parts
from local_rag.text.display import is_url, normal
from local_rag.web.pages import read_page

SITE = "https://a.test"
BOATS, WHALES = "Rescue boats leave when the keeper lights the lamp.", "Whales sing below the ice."


class Web:
    """Pages as a test leaves them, an index, and what a sync of pages says in a line."""

    def __init__(self, index):
        self.index, self.pages, self.asked = index, {"boats": ("boats", BOATS), "whales": ("whales", WHALES)}, []

    def put(self, path, text, to=""):
        """A page, found at another URL where it redirects."""
        self.pages[path] = (to or path, text)

    def gone(self, path):
        del self.pages[path]

    def read(self, url):
        path = url.removeprefix(f"{SITE}/").partition("#")[0]
        self.asked.append(path)
        if path not in self.pages:
            raise FileSkipped("a.test answered 404 Not Found")
        to, text = self.pages[path]
        return LoadedDocument(text, to.title(), url=f"{SITE}/{to}")

    def take(self, expected, *paths, **options):
        report = self.index.sync_pages([f"{SITE}/{path}" for path in paths], self.read, **options)
        assert told(report, lambda url: url.removeprefix(f"{SITE}/")) == expected
        assert self.index.verify(deep=True) and self.index.has_forgotten()

    def remove(self, *paths):
        assert self.index.remove([f"{SITE}/{path}" for path in paths])

    def holds(self, *paths):
        assert [file.path.removeprefix(f"{SITE}/") for file in self.index.files()] == [*paths]


@pytest.fixture
def index(tmp_path):
    with indexed(tmp_path / "index", {}) as made:
        yield made


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("The letter a stands first.", encoding="utf-8")
    return folder


STEPS = {
    "a page changes": [
        ["take", "new boats whales", "boats", "whales", "boats#part"],
        ["take", "unchanged 2", "boats", "whales"],
        ["put", "boats", "Boats are ships by now."],
        ["take", "updated boats, unchanged 1", "boats", "whales"],
    ],
    "a page that is not had is kept, unless pruned": [
        ["take", "new boats, skipped nothing!", "boats", "nothing"],
        ["gone", "boats"],
        ["take", "kept boats!", "boats"],
        ["put", "boats", " \n"],
        ["take", "kept boats!", "boats"],
        ["gone", "boats"],
        ["take", "removed boats, skipped boats!", "boats", {"prune": True}],
    ],
    "a page is stored where it was found, and known by both names": [
        ["put", "old", BOATS, "boats"],
        ["take", "new boats", "old"],
        ["take", "unchanged 1", "old"],
        ["gone", "boats"],
        ["take", "kept boats!", "boats"],
        ["remove", "old"],
        ["take", "new boats", "old"],
        ["remove", "boats#part"],
        ["holds"],
    ],
    "a URL that leads elsewhere by now": [
        ["put", "old", BOATS, "boats"],
        ["take", "new boats", "old"],
        ["put", "old", WHALES, "whales"],
        ["take", "new whales, removed boats", "old"],
        ["put", "whales", BOATS, "boats"],
        ["take", "new boats, unchanged 1", "whales", "old"],
    ],
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_steps(place, steps):
    with indexed(place, {}) as index:
        done(Web(index), steps)


def test_folders_come_and_go_without_touching_pages(index, notes):
    web = Web(index)
    web.take("new boats", "boats")
    assert index.sync().unchanged == 0
    index.sync([notes])
    status = index.status()
    assert (status.files, status.pages, status.documents, status.roots) == (1, 1, 2, (str(notes),))
    page = index.search("rescue boats", 1)[0].metadata
    assert [page[name] for name in ("source", "url", "title")] == [f"{SITE}/boats", f"{SITE}/boats", "Boats"]
    for wish in (f"{SITE}/boats", f"{SITE}/boat?", f"{SITE}/**", "a.test", "boats"):
        assert [found.metadata["url"] for found in index.search("the", 9, within=[wish])] == [f"{SITE}/boats"]
    index.remove([notes])
    web.holds("boats")
    assert web.asked == ["boats"], "only naming a page fetches it"


def test_others_write_while_a_page_is_fetched(index, notes, monkeypatch):
    """What they made of the index counts: no vectors of another model come into it."""
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    web = Web(index)

    def reembedded(url):
        with Index.open(index.path, HashingEmbedder(salt="other"), reembed=True) as other:
            other.reembed()
        return web.read(url)

    with pytest.raises(IndexMismatch):
        index.sync_pages([f"{SITE}/whales"], reembedded)
    assert index.files() == []


# --- what fetches them


@pytest.fixture
def web():
    with WebServer() as server:
        for name, words in (("boats", BOATS), ("whales", WHALES)):
            server.pages[f"/{name}"] = reply(words.encode(), "text/plain; charset=utf-8")
        yield server


@pytest.fixture
def run(web, monkeypatch):
    """What `local-rag index` shows of a request: what it fetches, and its report."""
    monkeypatch.setattr(indexing, "open_embedder", lambda *_, **__: HashingEmbedder(window=300))

    def door(*paths, urls=()):
        shown = io.StringIO()
        request = Request(paths, [web.url(path) for path in urls])
        read = partial(read_page, seconds=20, addresses=loopback(web))
        report, left = index_files(Settings.load(), request, TerminalDisplay(SafeConsole(shown)), read)
        return shown.getvalue().splitlines(), lines_shown(*report_parts(report, left))

    return door


def test_pages_and_folders_in_one_report(run, notes, web):
    web.pages |= {"/old": redirect("/boats"), "/picture": reply(b"\x89PNG", "image/png")}
    urls = ["/old", "/nothing", "/picture"]
    said, report = run(notes, urls=urls)
    assert said[:3] == [f"fetching {web.url(path)}" for path in urls]
    assert said[3].startswith("searchable: 1 file, 1 web page, 2 passages (")
    assert report[0].startswith("2 new, 0 updated, 0 unchanged, 0 removed, 2 skipped")
    assert "answered 404" in "".join(report) and "image/png, which is not read" in " ".join(report)
    requests = len(web.requests)
    assert run()[1] == [
        "0 new, 0 updated, 1 unchanged, 0 removed, 0 skipped",
        "1 web page left as indexed: pages are fetched only when they are named.",
    ]
    assert len(web.requests) == requests


def test_title_and_text_count_and_not_what_a_server_changes_around_them(index, web):
    page = "<html><head><title>The lamp</title></head><h2>Boats</h2><p>%s</p><script>var n = %d</script></html>"
    read = partial(read_page, seconds=20, addresses=loopback(web))
    for number in (1, 2):
        web.pages["/"] = html(page % (BOATS * 5, number))
        assert index.sync_pages([web.url("/")], read).unchanged == number - 1
    document = index.search("lamp", 1)[0]
    assert [document.metadata[name] for name in ("title", "heading")] == ["The lamp", "Boats"]
    assert "var" not in document.page_content
    report = index.sync_pages(["ftp://a.test/", "https://10.0.0.1/", "http://[::1", "https://a:b@a.test/"], read)
    assert len(report.skipped) == 4 and all(skipped.reason for skipped in report.skipped)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTPS://Example.ORG:443", "https://example.org/"),
        ("http://example.org.:80/a#b", "http://example.org/a"),
        ("http://example.org:8080?q=ä b", "http://example.org:8080/?q=%C3%A4%20b"),
        ("https://example.org/%C3%A4/ä", "https://example.org/%C3%A4/%C3%A4"),
        ("https://[2001:DB8::1]/", "https://[2001:db8::1]/"),
        ("http://[::1", "http://[::1"),
        ("ftp://Example.org", "ftp://Example.org"),
    ],
)
def test_one_spelling_per_page(url, expected):
    assert normal(url) == normal(normal(url)) == expected and is_url(url)


def test_what_is_no_url():
    assert not any(map(is_url, ["C://a", "notes", "/n/https://a", "a.org/b", "mailto:a@b", "./https://a"]))


# --- texts

LONG = "The pump is blue. " * 40
TEXTS = (
    ("1/pumps", LoadedDocument(f"Pumps\n\n{LONG}", "Pumps", headings=(Heading(0, 1, "Pumps"),))),
    ("2", LoadedDocument("A valve closes.", "Valves")),
    ("3", LoadedDocument("  \n ")),
)


def test_texts_are_found_under_their_names_and_embedded_when_they_change(index):
    report = index.sync_texts(TEXTS)
    assert report.new == ("1/pumps", "2") and report.chunks == index.count() > 3, "one without words is left out"
    embedded = index.embedder.embedded
    assert index.sync_texts(TEXTS).unchanged == 2
    told = LoadedDocument("A valve closes.", "Valves", author="Ann Lee", date="2023", subject="valves")
    assert index.sync_texts([("2", told)]).updated == ("2",)
    assert index.embedder.embedded == embedded, "another author is a change that embeds nothing"
    assert index.search("blue pump", 1)[0].metadata["source"] == "1/pumps", "what is not among the texts stays"
    index.sync_texts([("whole", TEXTS[0][1])], whole=True)
    assert index.search("pump blue", 1, within=["whole"])[0].page_content == f"Pumps\n\n{LONG}"
