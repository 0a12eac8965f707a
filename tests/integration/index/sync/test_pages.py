"""Pages of the web in an index: fetched when they are named, kept like files, and under no folder."""

from __future__ import annotations

import io
import json
import re
import sqlite3
from contextlib import ExitStack, contextmanager

import pytest
from support.fakes_index import HashingEmbedder
from support.screen import shown as lines_shown
from support.web_server import WebServer, fetcher, html, redirect, reply

from local_rag.config.settings import Settings
from local_rag.core.documents import WebPage
from local_rag.core.errors import FileSkipped, IndexMismatch, UsageError
from local_rag.core.progress import Silent
from local_rag.core.serialization import to_json, to_plain
from local_rag.index.index import Index
from local_rag.index.store import connection
from local_rag.index.store.lock import write_lock
from local_rag.index.within import matching
from local_rag.runtime import indexing
from local_rag.runtime.index_request import Request
from local_rag.runtime.indexing import index_files, listed_urls, named, reader
from local_rag.terminal.console import SafeConsole
from local_rag.terminal.index_report import report_parts
from local_rag.terminal.progress import TerminalDisplay
from local_rag.text import citations
from local_rag.text.urls import is_url, normal

BOATS = "Rescue boats leave the harbour when the keeper lights the lamp.\n"
WHALES = "Whales sing below the ice, and nobody knows why.\n"


def text(words, **more):
    return reply(words.encode(), "text/plain; charset=utf-8", **more)


@pytest.fixture
def web():
    with WebServer() as server:
        server.pages |= {"/boats": text(BOATS), "/whales": text(WHALES)}
        yield server


@pytest.fixture
def index(tmp_path):
    with Index.open(tmp_path / "index", HashingEmbedder(), chunk_size=40, create=True) as made:
        yield made


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("The letter a stands first.", encoding="utf-8")
    return folder


@pytest.fixture
def take(index, web):
    """Fetch and take in; the reader is that of the command line."""
    shown = io.StringIO()
    read = reader(Settings.load(), TerminalDisplay(SafeConsole(shown)), fetcher(web))

    def taken(*paths, prune=False):
        return index.sync_pages([web.url(path) for path in paths], read, prune=prune)

    taken.shown = shown.getvalue
    return taken


def indexed(index):
    return [file.path for file in index.files()]


def counts(report):
    return len(report.new), len(report.updated), report.unchanged, len(report.removed)


class TestIncremental:
    def test_new_unchanged_updated(self, index, web, take):
        first = take("/boats", "/whales")
        assert first.new == (web.url("/boats"), web.url("/whales")) and counts(first) == (2, 0, 0, 0)
        assert first.chunks == 2 and first.seconds > 0
        before = index.embedder.embedded
        assert counts(take("/boats", "/whales")) == (0, 0, 2, 0) and index.embedder.embedded == before
        web.pages["/boats"] = text("Boats are ships by now.")
        report = take("/boats", "/whales")
        assert report.updated == (web.url("/boats"),) and counts(report) == (0, 1, 1, 0)
        documents = index.search("boats", 9)
        assert documents[0].page_content == "Boats are ships by now."
        assert not [document for document in documents if "harbour" in document.page_content]

    def test_each_url_is_shown_before_it_is_fetched_and_asked_for_once(self, web, take):
        take("/boats", "/whales", "/boats", "/boats#top")
        assert take.shown().splitlines() == [f"fetching {web.url('/boats#top')}", f"fetching {web.url('/whales')}"]
        assert [request.path for request in web.requests] == ["/boats", "/whales"]

    def test_html_gives_title_and_text_and_what_the_server_changes_around_it_does_not_count(self, index, web, take):
        page = "<html><head><title>The lamp</title></head><body><p>%s</p><script>var n = %d</script></body></html>"
        web.pages["/"] = html(page % (BOATS * 5, 1))
        take("/")
        web.pages["/"] = html(page % (BOATS * 5, 2))
        assert counts(take("/")) == (0, 0, 1, 0)
        document = index.search("lamp", 1)[0]
        assert document.metadata["title"] == "The lamp" and "var" not in document.page_content

    def test_author_and_date_that_were_not_known_come_with_the_next_fetch(self, index, web):
        pages = iter(
            [WebPage(web.url("/"), "Boats", BOATS), *[WebPage(web.url("/"), "Boats", BOATS, "2024-05-06", "A Lee")] * 2]
        )
        assert counts(index.sync_pages([web.url("/")], lambda url: next(pages))) == (1, 0, 0, 0)
        before = index.embedder.embedded
        assert counts(index.sync_pages([web.url("/")], lambda url: next(pages))) == (0, 1, 0, 0)
        metadata = index.search("boats", 1)[0].metadata
        assert (metadata["author"], metadata["date"]) == (
            "A Lee",
            "2024-05-06",
        ) and index.embedder.embedded == before + 1
        assert counts(index.sync_pages([web.url("/")], lambda url: next(pages))) == (0, 0, 1, 0)

    def test_ctrl_c_keeps_what_is_stored(self, index, web, take):
        def read(url):
            if url.endswith("/whales"):
                raise KeyboardInterrupt
            return WebPage(url, "", BOATS)

        with pytest.raises(KeyboardInterrupt):
            index.sync_pages([web.url("/boats"), web.url("/whales")], read)
        assert indexed(index) == [web.url("/boats")] and index.search("boats", 1)
        assert counts(take("/whales")) == (1, 0, 0, 0)

    def test_nobody_waits_for_a_slow_server(self, index, notes, web):
        """While a page is fetched, another one may write."""

        def read(url):
            with sqlite3.connect(index.path / "writer.lock", timeout=0, isolation_level=None) as lock:
                lock.execute("BEGIN EXCLUSIVE")
                lock.execute("ROLLBACK")
            lock.close()
            index.sync([notes])
            return WebPage(url, "", BOATS)

        assert len(index.sync_pages([web.url("/boats")], read).new) == 1
        assert len(index.files()) == 2

    def test_what_was_stored_is_reported_though_another_process_writes_at_the_end(self, index, monkeypatch):
        monkeypatch.setattr(connection, "BUSY_SECONDS", 0.01)
        url = "http://boats.test/"
        with ExitStack() as elsewhere:

            @contextmanager
            def locked_then_taken(folder):
                with write_lock(folder):
                    yield
                elsewhere.enter_context(write_lock(folder))

            monkeypatch.setattr("local_rag.index.store.store.write_lock", locked_then_taken)
            report = index.sync_pages([url], lambda url: WebPage(url, "", BOATS))
        assert report.new == (url,) and indexed(index) == [url] and index.search("boats", 1)

    def test_an_index_that_was_made_anew_meanwhile_gets_no_vectors_of_another_model(self, index, notes, web):
        def read(url):
            with Index.open(index.path, HashingEmbedder(salt="other"), chunk_size=40, reembed=True) as other:
                other.reembed()
            return WebPage(url, "", BOATS)

        index.sync([notes])
        with pytest.raises(IndexMismatch):
            index.sync_pages([web.url("/boats")], read)
        assert len(index.files()) == 1


class TestNotHad:
    def test_a_new_page_is_skipped_with_its_reason(self, index, web, take):
        report = take("/boats", "/nothing")
        assert counts(report) == (1, 0, 0, 0) and report.kept == ()
        assert [(skipped.path, skipped.reason) for skipped in report.skipped] == [
            (web.url("/nothing"), "127.0.0.1 answered 404 Not Found")
        ]

    def test_an_indexed_page_is_kept_unless_pruned(self, index, web, take):
        take("/boats", "/whales")
        del web.pages["/boats"]
        report = take("/boats", "/whales")
        assert counts(report) == (0, 0, 1, 0) and report.skipped == ()
        assert "404" in report.kept[0].reason and "kept" in report.kept[0].reason
        assert index.search("boats", 1)[0].metadata["source"] == web.url("/boats")
        report = take("/boats", prune=True)
        assert report.removed == (web.url("/boats"),) and "404" in report.skipped[0].reason
        assert indexed(index) == [web.url("/whales")]

    def test_a_page_without_text_any_more_is_kept(self, index, web, take):
        take("/boats")
        web.pages["/boats"] = text(" \n")
        report = take("/boats")
        assert [skipped.reason for skipped in report.kept] == ["no readable text; its indexed text is kept"]
        assert index.search("boats", 1)[0].page_content == BOATS.strip()

    @pytest.mark.parametrize(
        "url",
        ["ftp://example.org/a", "https://10.0.0.1/", "http://[::1", "https://a:b@example.org/", "https://\udce4/"],
    )
    def test_what_may_not_be_fetched_is_refused_by_the_fetcher(self, index, web, url):
        read = reader(Settings.load(), Silent(), fetcher(web))
        report = index.sync_pages([url], read)
        assert len(report.skipped) == 1 and report.skipped[0].reason and counts(report) == (0, 0, 0, 0)


class TestRedirects:
    def test_a_page_is_stored_where_it_was_found_and_known_by_both_names(self, index, web, take):
        web.pages["/old"] = redirect("/boats")
        assert take("/old").new == (web.url("/boats"),)
        assert counts(take("/old")) == (0, 0, 1, 0)
        page = web.pages.pop("/boats")
        assert [skipped.path for skipped in take("/old").kept] == [web.url("/boats")]
        assert [skipped.path for skipped in take("/boats").kept] == [web.url("/boats")]
        web.pages["/boats"] = page
        assert counts(take("/boats")) == (0, 0, 1, 0)

    def test_a_url_that_leads_elsewhere_by_now_is_new_there_and_gone_from_before(self, index, web, take):
        web.pages["/old"] = redirect("/boats")
        take("/old")
        web.pages["/old"] = redirect("/whales")
        report = take("/old")
        assert (report.new, report.removed) == ((web.url("/whales"),), (web.url("/boats"),))
        assert indexed(index) == [web.url("/whales")]

    def test_a_page_that_was_named_itself_stays(self, index, web, take):
        web.pages["/old"] = redirect("/boats")
        take("/boats", "/old")
        web.pages["/old"] = redirect("/whales")
        assert counts(take("/old")) == (1, 0, 0, 0)
        assert indexed(index) == [web.url("/boats"), web.url("/whales")]

    def test_a_page_that_moved_away_takes_its_text_along(self, index, web, take):
        take("/boats")
        web.pages |= {"/boats": redirect("/ships"), "/ships": text(BOATS)}
        report = take("/boats")
        assert (report.new, report.removed) == ((web.url("/ships"),), (web.url("/boats"),))

    def test_both_names_forget_it(self, index, web, take):
        web.pages["/old"] = redirect("/boats")
        take("/old")
        assert index.remove([web.url("/old")]) == (web.url("/boats"),)
        take("/old")
        assert index.remove([web.url("/boats").upper().replace("/BOATS", "/boats#part")]) == (web.url("/boats"),)
        with pytest.raises(UsageError, match="is not in the index"):
            index.remove([web.url("/boats")])


class TestBesideFiles:
    def test_folders_come_and_go_without_touching_pages(self, index, notes, web, take):
        take("/boats")
        index.sync([notes])
        (notes / "a.txt").unlink()
        (notes / "b.txt").write_text("The letter b stands second.", encoding="utf-8")
        assert counts(index.sync()) == (1, 0, 0, 1)
        assert counts(index.sync(prune=True)) == (0, 0, 1, 0)
        index.remove([notes])
        assert indexed(index) == [web.url("/boats")]
        assert len(web.requests) == 1, "only naming a page fetches it"

    def test_an_index_of_pages_only_can_be_synced(self, index, take):
        with pytest.raises(UsageError, match="nothing has been indexed yet"):
            index.sync()
        take("/boats")
        assert counts(index.sync()) == (0, 0, 0, 0)

    def test_status_counts_pages_apart(self, index, notes, take):
        take("/boats", "/whales")
        index.sync([notes])
        status = index.status()
        assert (status.files, status.pages, status.documents, status.roots) == (
            1,
            2,
            3,
            (str(notes),),
        )
        assert status.last_sync and status.cache_fresh

    def test_the_command_that_makes_it_anew_names_pages_too(self, index, notes, web, take):
        web.pages["/old?a=1&b=2"] = redirect("/boats")
        take("/old?a=1&b=2", "/whales")
        index.sync([notes])
        with pytest.raises(IndexMismatch) as caught:
            Index.open(index.path, HashingEmbedder(), chunk_size=30)
        for name in (f"'{web.url('/old?a=1&b=2')}'", web.url("/whales"), str(notes)):
            assert f" {name} " in caught.value.hint

    def test_reembedding_and_verify(self, index, web, take):
        take("/boats")
        with Index.open(index.path, HashingEmbedder(salt="new"), chunk_size=40, reembed=True) as other:
            assert other.reembed() == 1
            assert other.search("boats", 1)[0].metadata["url"] == web.url("/boats")
            other.verify()


class TestSearch:
    def test_source_and_url_are_where_it_was_found_and_the_choice_is_the_persons_own(self, index, notes, web, take):
        take("/boats")
        index.sync([notes])
        page, file = (index.search(words, 1)[0].metadata for words in ("rescue boats", "letter first"))
        assert (page["source"], page["url"], page["origin"]) == (web.url("/boats"), web.url("/boats"), "files")
        assert page["title"] == f"{web.netloc}/boats" and page["page"] is None
        assert (file["source"], file["url"]) == (str(notes / "a.txt"), "")

    def test_a_citation_carries_the_url(self, index, web, take):
        take("/boats")
        checked = citations.check(f"{BOATS.strip()} [1]", index.search("boats", 1))
        assert checked.citations[0].url == web.url("/boats") and checked.citations[0].verified

    def test_within(self, index, notes, web, take):
        take("/boats", "/whales")
        index.sync([notes])
        for wish in (web.url("/boats"), web.url("/boat?"), f"{web.netloc}/boats", "boats"):
            assert {document.metadata["url"] for document in index.search("the", 9, within=[wish])} == {
                web.url("/boats")
            }
        for wish in (web.url("/"), web.url(""), web.url("/*"), web.url("/**"), web.netloc):
            assert len(index.search("the", 9, within=[wish])) == 2
        assert [document.metadata["url"] for document in index.search("the", 9, within=[str(notes)])] == [""]
        with pytest.raises(UsageError, match="no indexed file matches"):
            index.search("the", 9, within=["https://elsewhere.example/"])


def test_within_by_hand():
    urls = ["https://a.org/", "https://a.org/x?q=1", "https://a.org/d/e/f.html", "https://b.org/d/e", "/n/x/y.md"]
    expected = {
        "https://a.org/x?q=1": [urls[1]],
        "HTTPS://A.org": urls[:3],
        "https://*/d": urls[2:4],
        "https://a.org/**/*.html": [urls[2]],
        "https://a.org/d/**": [urls[2]],
        "a.org/d/": [urls[2]],
        "http://a.org/": [],
        "/n/**": [urls[4]],
    }
    assert {wish: matching(urls, [wish]) for wish in expected} == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTPS://Example.ORG:443", "https://example.org/"),
        ("http://example.org.:80/a#b", "http://example.org/a"),
        ("http://example.org:8080?q=ä b", "http://example.org:8080/?q=%C3%A4%20b"),
        ("https://example.org/%C3%A4/ä", "https://example.org/%C3%A4/%C3%A4"),
        ("https://[2001:DB8::1]/", "https://[2001:db8::1]/"),
        ("https://a:b@example.org/", "https://a:b@example.org/"),
        ("http://[::1", "http://[::1"),
        ("ftp://Example.org", "ftp://Example.org"),
    ],
)
def test_one_spelling_per_page(url, expected):
    assert normal(url) == normal(normal(url)) == expected


def test_what_is_a_url():
    assert all(map(is_url, ["https://a.org", "HTTP://a", "ftp://a", "file:///etc"]))
    assert not any(map(is_url, ["C://a", "notes", "/n/https://a", "a.org/b", "mailto:a@b", "./https://a"]))


class TestLists:
    def test_comments_and_blank_lines(self, tmp_path):
        file = tmp_path / "urls.txt"
        lines = "\ufeff# mine\n\n https://a.org/x#part \nHTTP://b.org/ # why\n\t#https://c.org\n"
        file.write_text(lines, encoding="utf-8")
        assert listed_urls(file) == ["https://a.org/x#part", "HTTP://b.org/"]
        paths, urls = named(["notes", "https://c.org/"], file)
        assert list(map(str, paths)) == ["notes"]
        assert urls == ["https://c.org/", "https://a.org/x#part", "HTTP://b.org/"]

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"https://a.org\nexample.org/a\n", "line 2: 'example.org/a' is no URL"),
            (b"https://a.org https://b.org", "line 1"),
            (b"file:///etc/passwd", "line 1"),
            (b"# nothing\n\n", "names no URL"),
            (b"\xff\xfe\x00", "no text in UTF-8"),
            (None, "there is no such file"),
        ],
    )
    def test_a_bad_list_is_refused_before_anything_is_fetched(self, tmp_path, content, said):
        file = tmp_path / "urls.txt"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(UsageError, match=said) as caught:
            listed_urls(file)
        assert caught.value.hint


class TestDoor:
    @pytest.fixture
    def run(self, web, monkeypatch):
        monkeypatch.setattr(indexing, "open_embedder", lambda *_, **__: HashingEmbedder(window=300))
        shown = io.StringIO()

        def door(*paths, urls=(), settings=None, json=False):
            request = Request(paths, [web.url(path) for path in urls])
            display = TerminalDisplay(SafeConsole(shown))
            report, left = index_files(settings or Settings.load(), request, display, fetcher(web))
            if json:
                return to_json({**to_plain(report), "pages_left": left})
            return "\n".join(lines_shown(*report_parts(report, left)))

        door.shown = shown.getvalue
        return door

    def test_pages_and_folders_in_one_report(self, run, notes, web):
        assert run(notes, urls=["/boats", "/nothing"]).startswith("2 new, 0 updated, 0 unchanged, 0 removed, 1 skipped")
        *fetched, searchable = run.shown().splitlines()
        assert fetched == [f"fetching {web.url('/boats')}", f"fetching {web.url('/nothing')}"]
        assert re.fullmatch(r"searchable: 1 file, 1 web page, 2 passages \(\d+\.\d s\)", searchable)
        assert run(notes, urls=["/boats"]).splitlines() == ["0 new, 0 updated, 2 unchanged, 0 removed, 0 skipped"]

    def test_what_has_no_vector_is_counted_once(self, run, notes, web):
        request = Request([notes], [web.url("/boats")], no_embed=True)
        report, _ = index_files(Settings.load(), request, TerminalDisplay(SafeConsole(io.StringIO())), fetcher(web))
        assert (report.chunks, report.not_embedded) == (2, 2)

    def test_without_names_folders_are_brought_up_to_date_and_nobody_is_called(self, run, notes, web):
        run(notes, urls=["/boats", "/whales"])
        before = len(web.requests)
        assert run().splitlines() == [
            "0 new, 0 updated, 1 unchanged, 0 removed, 0 skipped",
            "2 web pages left as indexed: pages are fetched only when they are named.",
        ]
        assert json.loads(run(json=True))["pages_left"] == 2
        assert len(web.requests) == before
        assert "left" not in run(notes)

    def test_urls_alone_leave_folders_alone(self, run, notes):
        run(notes)
        (notes / "b.txt").write_text("The letter b stands second.", encoding="utf-8")
        assert json.loads(run(urls=["/boats"], json=True))["unchanged"] == 0
        assert json.loads(run(json=True))["new"] == [str(notes / "b.txt")]

    def test_an_index_that_never_goes_to_the_web_takes_no_pages(self, run, notes, web):
        settings = Settings.load(index="mine", web__never=("mine",))
        with pytest.raises(UsageError, match="never go to the web"):
            run(urls=["/boats"], settings=settings)
        assert web.requests == [] and not settings.index_path.exists()
        run(notes, settings=settings)


def test_the_reader_gives_the_reason_of_a_page_that_is_none(web):
    web.pages["/picture"] = reply(b"\x89PNG", "image/png")
    read = reader(Settings.load(), Silent(), fetcher(web))
    with pytest.raises(FileSkipped, match="image/png is not read from the web"):
        read(web.url("/picture"))
