"""Documents at their places, the index and search in a real browser, over the real API."""

from __future__ import annotations

import re
from contextlib import contextmanager
from urllib.parse import quote as encoded

import pypdfium2
import pytest
from support.fakes_index import HashingEmbedder
from support.hostile import make_pdf
from support.page_server import passage
from support.serving import a_workspace, served

from local_rag.config.settings import Settings
from local_rag.index.index import Index
from local_rag.server.answers import file_id

LEASE = "The notice period is three months.\nThe deposit is 1,200 euros.\nThe landlord repairs the roof."
QUOTE = "The deposit is 1,200 euros."
MAILS = (
    "From a@b Thu Jan  1 00:00:00 2026\nSubject: Pot\n\nBest regards. The key lies below the pot.\n\n"
    "From a@b Thu Jan  2 00:00:00 2026\nSubject: Shed\n\nBest regards. The spare key lies in the shed.\n\n"
)
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script> [a](javascript:alert(3)) \u202egpj.exe"


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    make_pdf(folder / "lease.pdf", ["Rental contract", LEASE], title="Lease")
    lines = [f"Line {number} about nothing in particular." for number in range(900)]
    lines[450] = "The anchor weighs 40 kilograms."
    (folder / "long.txt").write_text("\n".join(lines))
    (folder / "<img src=x onerror=alert(1)>.txt").write_text(HOSTILE)
    (folder / "mails.mbox").write_text(MAILS)
    return folder


@pytest.fixture
def opened(notes, browser):
    """Opens the page of a real server, signed in, at a hash."""
    settings = Settings.load()
    with Index.open(settings.index_path, HashingEmbedder(window=300), create=True) as index:
        index.sync([notes])
    workspace = a_workspace()

    @contextmanager
    def at(hash_, **options):
        with browser.tab(f"{address}/?key={workspace.access.key}", **options) as tab:
            tab.page.goto(f"{address}/{hash_}")
            yield tab

    with served(workspace) as address:
        yield at


def at_quote(path, text, quote, page=None):
    start = text.index(quote)
    where = f"start={start}&end={start + len(quote)}&quote={encoded(quote)}" + (f"&page={page}" if page else "")
    return f"#/file/{file_id(str(path))}?{where}"


def test_a_quote_is_drawn_where_it_stands_on_the_page_and_marked_in_its_message(opened, notes):
    with opened(at_quote(notes / "lease.pdf", LEASE, QUOTE, page=2), axe=True, reduced_motion="reduce") as tab:
        tab.page.locator("rect.spot").wait_for()
        for width in (360, 1280):
            assert tab.axe_everywhere(width) == []
            tab.holds(lambda: tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
        picture = tab.page.get_by_role("img", name="Page 2 of notes/lease.pdf")
        picture.evaluate("(image) => image.decode()")
        spots = tab.page.locator("rect.spot").all()
        assert len(spots) == 1
        box, page_box = spots[0].bounding_box(), picture.bounding_box()
        share = [
            (box["x"] - page_box["x"]) / page_box["width"],
            (box["y"] - page_box["y"]) / page_box["height"],
            (box["x"] + box["width"] - page_box["x"]) / page_box["width"],
            (box["y"] + box["height"] - page_box["y"]) / page_box["height"],
        ]
        page = pypdfium2.PdfDocument(notes / "lease.pdf")[1]
        width, height = page.get_size()
        left, top, right, bottom = share[0] * width, share[1] * height, share[2] * width, share[3] * height
        drawn = page.get_textpage().get_text_bounded(left - 1, height - bottom - 1, right + 1, height - top + 1)
        assert drawn.strip() == QUOTE
        tab.page.get_by_text("Text of this page").click()
        tab.has(".stored mark", [QUOTE])
        tab.press("Page before")
        tab.see("Page 1 of 2")
        tab.has("rect.spot", [])
        tab.press("Back to the quote")
        tab.see("Page 2 of 2")
        link = tab.page.get_by_role("link", name="Open the original")
        tab.holds(
            lambda: (
                re.search(r"/original\?pass=[0-9a-f]{64}#page=2$", link.get_attribute("href"))
                and link.get_attribute("target") == "_blank"
            )
        )
        with Index.open(Settings.load().index_path, HashingEmbedder(window=300)) as index:
            (shed,) = index.search("spare key shed", 1, mode="words")
        start = shed.metadata["start"] + shed.page_content.index("Best regards.")
        where = f"chunk_id={shed.metadata['chunk_id']}&start={start}&end={start + 13}&quote=Best+regards."
        tab.page.goto(f"http://{tab.origin}/#/file/{file_id(str(notes / 'mails.mbox'))}?{where}")
        tab.see("Part 2 of 2")
        tab.see("The spare key lies in the shed.")
        tab.has(".stored mark", ["Best regards."])


def test_a_page_without_a_certain_place_stays_clean_and_says_so(opened, notes):
    address = at_quote(notes / "lease.pdf", LEASE, QUOTE, page=2)
    make_pdf(notes / "lease.pdf", ["Rental contract", "Something else stands here now."])
    with opened(address) as tab:
        tab.see("has changed since it was indexed")
        tab.see("not certain")
        tab.page.get_by_role("img", name="Page 2 of notes/lease.pdf").wait_for()
        tab.has("rect.spot", [])
        tab.has(".stored mark", [QUOTE])


def test_a_quote_in_a_long_text_is_in_view_and_the_text_goes_on(opened, notes):
    text = (notes / "long.txt").read_text()
    with opened(at_quote(notes / "long.txt", text, "The anchor weighs 40 kilograms.")) as tab:
        mark = tab.page.locator(".stored mark")
        mark.wait_for()
        tab.holds(lambda: mark.inner_text() == "The anchor weighs 40 kilograms.")
        tab.in_view(".stored mark")
        while tab.button("Earlier text").count():
            shown = tab.page.locator(".stored").inner_text()
            tab.press("Earlier text")
            tab.page.wait_for_function("(shown) => document.querySelector('.stored').innerText !== shown", arg=shown)
        tab.holds(lambda: tab.page.locator(".stored").inner_text().startswith("Line 0 about"))


@pytest.mark.parametrize(
    ("name", "text", "drawn"),
    [
        (
            "plan.md",
            "## Price\n\n- The **roof** costs\n  `400`.\n\n| A | B |\n|---|---|\n| 1 | 2 |",
            "h3 li strong code td",
        ),
        (
            "plan.rst",
            "Price\n=====\n\n- The **roof** costs\n  ``400``, see Door_ and :func:`door`.",
            "h3 li strong code",
        ),
        ("plan.html", "<h2>Price</h2><ul><li>The <b>roof</b> costs 400.</li></ul><p>A &lt; B</p>", "h3 li"),
        ("costs.csv", "Item,Price\nRoof,400\nDoor,90", "th td"),
    ],
)
def test_a_document_is_rendered_and_its_passage_marked_in_it(notes, request, name, text, drawn):
    (notes / name).write_text(text)
    at = request.getfixturevalue("opened")
    with Index.open(Settings.load().index_path, HashingEmbedder(window=300)) as index:
        found = index.search("roof 400", 1, mode="words")[0].metadata
    where = "&".join(f"{key}={found[key]}" for key in ("chunk_id", "start", "end"))
    with at(f"#/file/{file_id(str(notes / name))}?{where}") as tab:
        tab.holds(lambda: all(tab.page.locator(f".stored {each}").count() for each in [*drawn.split(), "mark"]))
        tab.holds(lambda: not re.search(r"\*\*|[`#|]|</|_\b|:func|\n *400", tab.page.locator(".stored").inner_text()))
        marked = "".join(tab.page.locator(".stored mark").all_inner_texts()).lower()
        assert "roof" in marked and "400" in marked


def test_a_hostile_name_and_text_are_words(opened, notes):
    with opened("#/index") as tab:
        tab.page.get_by_role("link", name="notes/<img src=x onerror=alert(1)>.txt").click()
        stored = tab.page.locator(".stored")
        stored.wait_for()
        tab.holds(lambda: "<script>alert(2)</script>" in stored.inner_text() and "\u202e" not in stored.inner_text())
        tab.has(".stored a, .stored img, .stored script", [])


def test_the_index_filters_as_one_types_and_forgets_after_a_question(opened, notes):
    with opened("#/index", axe=True) as tab:
        tab.see("4 files")
        tab.page.get_by_role("searchbox", name="Filter by name").fill("LONG")
        tab.see("1 of 4 files")
        tab.page.get_by_role("checkbox", name="Choose notes/long.txt").check()
        assert tab.axe() == []
        tab.press("Forget 1 file")
        tab.page.get_by_role("checkbox", name="Leave it out from now on").check()
        tab.page.get_by_role("dialog").get_by_role("button", name="Forget", exact=True).click()
        tab.see("1 file left the index.")
        tab.see("Left out from now on: /long.txt")
        tab.see("local-rag index --no-exclude /long.txt")
        tab.page.get_by_role("link", name="notes/lease.pdf").wait_for()
        tab.holds(lambda: tab.page.get_by_role("link", name="notes/long.txt").count() == 0)
        assert (notes / "long.txt").exists()


def test_bringing_up_to_date_and_adding_a_folder_tell_what_they_do(browser, server):
    damaged = {"label": "a.pdf", "reason": "is damaged", "fix": "local-rag index --retry", "partly": False}
    in_part = [{"label": "b.eml", "reason": f"{name} is left out", "fix": "", "partly": True} for name in ("x", "y")]
    root = {
        "file_id": "r1", "label": "~/notes", "files": 2, "excludes": [], "again": [], "there": True,
        "not_read": "5 .mp4 and 1 .sav",
    }  # fmt: skip
    state = {
        "index": "default", "exists": True, "allowed": [{"file_id": "r1", "label": "~/notes"}], "syncing": None,
        "hint": "", "about": "letters", "files": 2, "pages": 0, "documents": 2, "chunks": 5, "embedded": 3,
        "seconds_left": 100.0, "bytes": 2_000_000, "embedder": "minilm", "last_sync": "2026-11-23T01:00:00+00:00",
        "roots": [root], "skipped": [damaged, *in_part],
    }  # fmt: skip
    server.answers["index"] = (200, state)
    server.answers["files"] = (200, {"files": [], "matching": 0, "total": 0, "cursor": None})
    folder = {"name": "letters", "below": "letters", "indexed": False, "coming": True}
    server.answers["index/folders"] = (200, {"label": "~/notes", "below": "", "folders": [folder], "more": 0})
    counted = {"files": 2, "kinds": "2 .md", "not_read": "", "whole": True}
    server.answers["index/folders/files"] = (200, counted)
    busy = {"error": {"code": "index_busy", "message": "the index is being changed already", "hint": "wait"}}
    server.answers["index/sync"] = (409, busy)
    with browser.tab(f"{server.url}#/index") as tab:
        tab.expected.append("409")
        tab.see("3 of 5 passages are embedded")
        tab.see("local-rag index --retry")
        tab.see("2 files, of kinds that are not read: 5 .mp4 and 1 .sav")
        tab.holds(lambda: tab.page.get_by_role("heading", name="Skipped 1").is_visible())
        tab.holds(
            lambda: tab.page.get_by_role("heading", name="Indexed in part 1").is_visible()
        )  # one file has both warnings
        tab.press("Bring up to date")
        tab.see("the index is being changed already")
        tab.press("Add a folder")
        tab.see("comes with the next update")
        tab.press("letters")
        tab.press("Index this folder")
        tab.page.get_by_role("dialog").wait_for(state="detached")
    assert ("index/add", {"root": "r1", "below": "letters"}) in server.posted


def test_a_search_shows_passages_and_opens_the_document_beside_them(browser, server):
    passages = [passage(1), passage(2, "notes.md", "The roof was mended in May.")]
    begun = ("before " * 40, False), ("roof", True), (" was mended ", False), ("in May", True)
    passages[1]["segments"] = [{"text": text, "mark": mark} for text, mark in begun]
    server.answers["search"] = (200, {"passages": passages, "notes": ["3 of 9 passages are embedded"]})
    spread = {
        "file_id": "f2", "label": "notes.md", "title": "", "kind": "text", "document": 0, "documents": 1, "page": None,
        "blocks": [{"t": "mark", "c": [{"t": "text", "s": "The roof was mended in May."}]}], "before": None,
        "after": None, "image": None, "placed": True, "changed": False,
        "original": "text", "why": "",
    }  # fmt: skip
    server.answers["documents/f2/place"] = (200, spread)
    with browser.tab(f"{server.url}#/search", axe=True) as tab:
        box = tab.page.get_by_role("searchbox", name="Search your files")
        tab.holds(lambda: box.evaluate("(box) => box === document.activeElement"))
        tab.press("Settings")
        tab.page.get_by_label("Search by").select_option("words")
        tab.page.get_by_label("Dated since").fill("2025-01-01")
        box.fill('roof "in May"')
        box.press("Enter")
        tab.see("3 of 9 passages are embedded")
        tab.has(".passage mark", ["roof", "in May"])
        tab.in_view(".passage mark:last-of-type")
        tab.holds(lambda: tab.page.locator(".passage").last.inner_text().count("before") < 15)
        tab.holds(lambda: "score" not in tab.page.locator("ol").inner_text())
        tab.page.get_by_text("Details").click()
        tab.holds(lambda: "score 0.90 · dense 0.81" in tab.page.locator(".passage").first.inner_text())
        assert tab.axe() == []
        tab.press("notes.md, p. 2")
        tab.has(".stored mark", ["The roof was mended in May."])
        tab.see("Quote 2 of 2")
        tab.press("Close the document")
        tab.page.locator(".stored").wait_for(state="detached")
        assert "#/search?q=roof+%22in+May%22" in tab.page.url
        tab.page.set_viewport_size({"width": 390, "height": 844})
        for close in (tab.page.go_back, tab.button("Close the document").click):
            tab.press("notes.md, p. 2")
            tab.page.locator(".stored mark").wait_for()
            close()
            tab.page.locator(".stored").wait_for(state="detached")
            tab.has(".passage mark", ["roof", "in May"])
        tab.page.go_back()
        tab.page.wait_for_url("about:blank")
    sought = {"query": 'roof "in May"', "k": 10, "mode": "words", "after": "2025-01-01"}
    assert server.posted[-1] == ("search", sought)
