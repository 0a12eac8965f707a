"""Documents at their places, the index and search in a real browser, over the real API."""

import os
import re
from urllib.parse import quote as encoded

import pypdfium2
import pytest
from support.fakes_index import HashingEmbedder
from support.garden import enter, entered
from support.hostile import make_pdf
from support.serving import a_workspace

from local_rag.config.settings import Settings
from local_rag.core import cancel
from local_rag.index.index import Index
from local_rag.server.answers import file_id
from local_rag.server.jobs import Job

LEASE = "The notice period is three months.\nThe deposit is 1,200 euros.\nThe landlord repairs the roof."
QUOTE = "The deposit is 1,200 euros."
MAILS = (
    "From a@b Thu Jan  1 00:00:00 2026\nSubject: Pot\n\nBest regards. The key lies below the pot.\n\n"
    "From a@b Thu Jan  2 00:00:00 2026\nSubject: Shed\n\nBest regards. The spare key lies in the shed.\n\n"
)
EMBEDDER = HashingEmbedder(window=300)
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script> [a](javascript:alert(3)) \u202egpj.exe"


DRAWN = {
    "plan.md": (
        "## Price\n\n- The **roof** costs\n  `400`.\n\n| A | B |\n|---|---|\n| 1 | 2 |",
        "h3 li strong code td",
    ),
    "costs.csv": ("Item,Price\nRoof,400\nDoor,90", "th td"),
}
"""Texts by the names of their files, and what is drawn of each."""


@pytest.fixture(scope="module", autouse=True)
def home_of_notes(tmp_path_factory):
    """A home whose default index holds the notes."""
    base = tmp_path_factory.mktemp("documents")
    folder = base / "notes"
    (folder / "letters").mkdir(parents=True)
    (folder / "empty").mkdir()
    make_pdf(folder / "lease.pdf", ["Rental contract", LEASE], title="Lease")
    lines = [f"Line {number} about nothing in particular." for number in range(900)]
    lines[450] = "The anchor weighs 40 kilograms."
    texts = {"long.txt": "\n".join(lines), "mails.mbox": MAILS, "letters/old.txt": "A letter of the landlord."}
    texts |= {"<img src=x onerror=alert(1)>.txt": HOSTILE, "talk.mp4": "x"}
    for name, text in (texts | {name: text for name, (text, _) in DRAWN.items()}).items():
        (folder / name).write_text(text)
    os.utime(folder / "letters" / "old.txt", (0, 86400 * 365))
    with entered(base) as patched:
        patched.setattr("local_rag.runtime.rag.open_embedder", lambda *_, **__: EMBEDDER)
        with index(create=True) as made:
            made.sync([folder])
        yield base


@pytest.fixture
def notes(home_of_notes, monkeypatch):
    enter(monkeypatch, home_of_notes)
    return home_of_notes / "notes"


@pytest.fixture
def opened(browser, notes):
    """Opens the page of a real server, signed in, at a hash."""
    return lambda *view, **options: browser.signed_in(a_workspace(), *view, **options)


@pytest.fixture
def own(tmp_path):
    """A folder that is indexed for one test, which changes it."""
    folder = tmp_path / "notes"
    folder.mkdir()
    make_pdf(folder / "lease.pdf", ["Rental contract", LEASE])
    (folder / "long.txt").write_text("The anchor weighs 40 kilograms.")
    with index(create=True) as made:
        made.sync([folder])
    return folder


def index(**options):
    return Index.open(Settings.load().index_path, EMBEDDER, **options)


def at_quote(path, text, quote, page=None):
    start = text.index(quote)
    where = f"start={start}&end={start + len(quote)}&quote={encoded(quote)}" + (f"&page={page}" if page else "")
    return f"#/file/{file_id(str(path))}?{where}"


def test_a_quote_is_drawn_where_it_stands_on_the_page_and_marked_in_its_message(opened, notes):
    with opened(at_quote(notes / "lease.pdf", LEASE, QUOTE, page=2), axe=True, reduced_motion="reduce") as tab:
        tab.page.locator("rect.spot").wait_for()
        assert tab.axe_everywhere(360, 1280) == []
        picture = tab.page.get_by_role("img", name="Page 2 of notes/lease.pdf")
        picture.evaluate("(image) => image.decode()")
        spots = tab.page.locator("rect.spot").all()
        assert len(spots) == 1
        box, page_box = spots[0].bounding_box(), picture.bounding_box()
        page = pypdfium2.PdfDocument(notes / "lease.pdf")[1]
        scale, height = page.get_width() / page_box["width"], page.get_height()
        left, top = ((box[side] - page_box[side]) * scale for side in ("x", "y"))
        right, bottom = left + box["width"] * scale, top + box["height"] * scale
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
        with index() as made:
            (shed,) = made.search("spare key shed", 1, mode="words")
        start = shed.metadata["start"] + shed.page_content.index("Best regards.")
        where = f"chunk_id={shed.metadata['chunk_id']}&start={start}&end={start + 13}&quote=Best+regards."
        tab.page.goto(f"http://{tab.origin}/#/file/{file_id(str(notes / 'mails.mbox'))}?{where}")
        tab.see("Part 2 of 2")
        tab.see("The spare key lies in the shed.")
        tab.has(".stored mark", ["Best regards."])


def test_a_page_without_a_certain_place_stays_clean_and_says_so(browser, own):
    make_pdf(own / "lease.pdf", ["Rental contract", "Something else stands here now."])
    with browser.signed_in(a_workspace(), at_quote(own / "lease.pdf", LEASE, QUOTE, page=2)) as tab:
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


@pytest.mark.parametrize("name", DRAWN)
def test_a_document_is_rendered_and_its_passage_marked_in_it(opened, notes, name):
    drawn = [*DRAWN[name][1].split(), "mark"]
    with index() as made:
        found = made.search("roof 400", 1, mode="words", within=[str(notes / name)])[0].metadata
    where = "&".join(f"{key}={found[key]}" for key in ("chunk_id", "start", "end"))
    with opened(f"#/file/{file_id(str(notes / name))}?{where}") as tab:
        tab.holds(lambda: all(tab.page.locator(f".stored {each}").count() for each in drawn))
        tab.holds(lambda: not re.search(r"\*\*|[`#|]|\n *400", tab.page.locator(".stored").inner_text()))
        marked = "".join(tab.page.locator(".stored mark").all_inner_texts()).lower()
        assert "roof" in marked and "400" in marked


def test_a_hostile_name_and_text_are_words(opened):
    with opened("#/index") as tab:
        tab.follow("<img src=x onerror=alert(1)>.txt")
        stored = tab.page.locator(".stored")
        stored.wait_for()
        tab.holds(lambda: "<script>alert(2)</script>" in stored.inner_text() and "\u202e" not in stored.inner_text())
        tab.has(".stored a, .stored img, .stored script", [])


def test_the_index_filters_as_one_types_and_forgets_after_a_question(browser, own):
    with browser.signed_in(a_workspace(), "#/index", axe=True) as tab:
        tab.see("2 files")
        tab.page.get_by_role("searchbox", name="Filter by name").fill("LONG")
        tab.see("1 of 2 files")
        tab.page.get_by_role("checkbox", name="Choose notes/long.txt").check()
        assert tab.axe() == []
        tab.press("Remove 1 file from search")
        tab.page.get_by_role("checkbox", name="Leave it out from now on").check()
        tab.page.get_by_role("dialog").get_by_role("button", name="Remove from search", exact=True).click()
        tab.see("1 file left the index.")
        tab.see("Left out from now on: /long.txt")
        tab.button("Take in again: /long.txt").wait_for()
        tab.page.get_by_role("link", name="lease.pdf").wait_for()
        assert (own / "long.txt").exists()


def test_files_are_a_tree_and_sorted_and_one_opens_beside_it_or_over_it(opened):
    with opened("#/index", axe=True, reduced_motion="reduce") as tab:
        links, keys = ".files a", tab.page.keyboard
        tab.page.get_by_text("letters 1 file").focus()
        tab.holds(lambda: tab.page.locator(links).count() == 6)
        keys.press("Enter")
        tab.see("old.txt")
        assert tab.axe_everywhere(1280, 390) == []
        tab.page.set_viewport_size({"width": 1280, "height": 800})
        tab.follow("old.txt")
        tab.see("A letter of the landlord.")
        assert tab.axe() == []
        boxes = [tab.page.locator(each).first.bounding_box() for each in (".files", ".doc")]
        assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
        tab.page.get_by_label("Order").select_option("changed")
        tab.holds(lambda: tab.page.locator(links).last.inner_text() == "notes/letters/old.txt")
        tab.page.get_by_label("Changed since").fill("2000-01-01")
        tab.see("6 of 7 files")
        tab.page.get_by_role("combobox", name="Kind", exact=True).select_option("pdf")
        tab.has(links, ["notes/lease.pdf"])
        tab.follow("notes/lease.pdf")
        tab.see("Page 1 of 2")
        keys.press("Escape")
        tab.page.locator(".doc").wait_for(state="detached")
        assert tab.page.locator(":focus").inner_text() == "notes/lease.pdf"
        tab.page.set_viewport_size({"width": 390, "height": 844})
        keys.press("Enter")
        tab.see("Page 1 of 2")
        assert tab.page.locator(".doc").bounding_box()["width"] == 390 and tab.axe() == []
        tab.page.go_back()
        tab.page.locator(".doc").wait_for(state="detached")


def test_the_view_of_an_index_says_what_it_lacks_and_what_works_on_it(browser, notes):
    workspace = a_workspace()
    no_more = {"fix": "", "action": "", "root": "", "partly": False}
    slow = no_more | {"label": "a.pdf", "reason": "took longer than 60 s", "action": "retry"}
    in_part = [no_more | {"label": "b.eml", "reason": f"{name} is left out", "partly": True} for name in ("x", "y")]

    def more(route):
        state = route.fetch().json()
        route.fulfill(json=state | {"skipped": [slow, *in_part], "embedded": state["chunks"] - 2})

    with browser.signed_in(workspace) as tab:
        tab.expected.append("409")
        tab.page.route("**/api/index", more)
        tab.page.goto(f"http://{tab.origin}/#/index")
        tab.see("You can ask now; search by meaning follows (")
        tab.button("Try again").wait_for()
        tab.see("7 files, of kinds that are not read: 1 .mp4")
        for heading in ("Skipped 1", "Indexed in part 1"):  # one file has both warnings
            tab.page.get_by_role("heading", name=heading).wait_for()
        with workspace.jobs.writing():
            tab.press("Check for changes")
            tab.see("something else is at work already")
        tab.press("Add a folder")
        tab.page.get_by_label("Below").select_option(index=1)
        tab.see("comes with the next update")


def test_indexing_is_seen_in_every_tab_joined_after_a_reload_and_stopped_in_one(browser, notes):
    def work(job):
        yield "progress", {"share": 0.2, "line": "12 of 51 files"}
        cancel.current().wait(600)

    workspace = a_workspace()
    workspace.jobs.work(Job("index", "cookie", {"index": "flat", "folders": []}, work))
    with browser.signed_in(workspace, "#/index") as tab, browser.tab(tab.page.url, beside=tab) as second:
        second.expected.append("status of 401")
        for each in (tab, second):
            each.see("12 of 51 files")
            each.has(".jobs a", ["Indexing flat"])
        tab.page.reload()
        tab.see("12 of 51 files")
        second.press("Stop: Indexing flat")
        for each in (tab, second):
            each.see("Stopped. What was done so far is kept.")
            each.has(".jobs a", [])


def test_a_search_shows_passages_and_opens_the_document_beside_them(opened):
    def more(route):
        route.fulfill(json=route.fetch().json() | {"notes": ["3 of 9 passages are embedded"]})

    with opened("#/search", axe=True) as tab:
        box = tab.page.get_by_role("searchbox", name="Search your files")
        tab.holds(lambda: box.evaluate("(box) => box === document.activeElement"))
        tab.page.route("**/api/search", more)
        tab.press("Settings")
        tab.page.get_by_label("Search by").select_option("words")
        tab.page.get_by_label("Dated before").fill("2100-01-01")
        for query, marks in (("zzqx wvutq", []), ("anchor", ["anchor"])):
            box.fill(query)
            box.press("Enter")
            tab.see("3 of 9 passages are embedded" if marks else "Nothing in these files matches.")
            tab.has(".passage mark", marks)
        tab.in_view(".passage mark")
        tab.holds(lambda: tab.page.locator(".passage").first.inner_text().count("nothing in particular") < 9)
        tab.holds(lambda: "score" not in tab.page.locator("ol").inner_text())
        tab.page.get_by_text("Details").click()
        tab.holds(lambda: "score" in tab.page.locator(".passage").first.inner_text())
        assert tab.axe_everywhere(390, 1280) == []
        box.fill('key "best regards"')
        with tab.page.expect_request("**/api/search") as sent:
            box.press("Enter")
        sought = {"query": 'key "best regards"', "k": 10, "mode": "words", "before": "2100-01-01"}
        assert sent.value.post_data_json == sought
        tab.has(".passage mark", ["Best", "regards", "key"] * 2)
        second = tab.page.locator(".passage").last.get_by_role("button", name="notes/mails.mbox")
        second.click()
        tab.holds(lambda: tab.page.locator(".stored mark").count() > 0)
        tab.see("Quote 2 of 2")
        tab.press("Close the document")
        tab.page.locator(".stored").wait_for(state="detached")
        assert "#/search?q=key+%22best+regards%22" in tab.page.url
        tab.page.set_viewport_size({"width": 390, "height": 844})
        for close in (tab.page.go_back, tab.button("Close the document").click):
            second.click()
            tab.page.locator(".stored mark").first.wait_for()
            close()
            tab.page.locator(".stored").wait_for(state="detached")
            tab.has(".passage mark", ["Best", "regards", "key"] * 2)
