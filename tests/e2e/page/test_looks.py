"""What everybody can use: keyboard, screen reader, widths, colours, motion; and strings that look like markup."""

from __future__ import annotations

import pytest
from support.page_server import HOLD, Job, answer, ended, passage, quote, started, token, unanswered

from local_rag.core.answer import Conflict, Position
from local_rag.core.verdicts import Graded

QUESTION = "How much is the rent?"
HOSTILE = (
    "<img src=x onerror=alert(1)><script>alert(2)</script>[a](javascript:alert(3)) "
    "![b](http://192.0.2.1/c.png) \u202egpj.exe ${alert(4)} {{5}} </textarea>"
)


def working(server):
    """A question with everything that can be seen of it."""
    verdict = {"kind": "relevance", "verdict": "relevant", "why": "it names the rent", "score": 0.91}
    rejected = {"kind": "grade_generation", "verdict": "not supported", "why": "no passage says 700", "score": None}
    server.script(
        started("retrieve", "searching your files"),
        ("retrieved", {"query": "rent", "passages": [passage(1), passage(2, "notes.md", "Parking is 40 euros.")]}),
        ("graded", {**verdict, "chunk_id": "c1", "source": "lease.pdf"}),
        ended("retrieve"),
        started("generate", "writing the answer"),
        token("The rent is 700"),
        ("graded", {**rejected, "chunk_id": None, "source": ""}),
        token("The rent is 900", 2),
        ("note", {"text": "one passage was left out"}),
        ("web_query", {"query": "rent in Vienna", "engine": "duckduckgo", "asks": True}),
        HOLD,
        answer("The rent is 900 euros", 1, 2),
    )


def test_axe_has_no_serious_finding(browser, server):
    with browser.tab(server.url, axe=True, reduced_motion="reduce") as tab:
        tab.see("What do you want to know?")
        tab.press("Settings")
        tab.page.get_by_label("Files").fill("*.pdf")
        tab.button("Files by pattern: *.pdf").wait_for()
        assert tab.axe_everywhere(1280, 400) == []
        working(server)
        tab.ask(QUESTION)
        tab.see("rent in Vienna")
        tab.page.get_by_text("How it comes about").click()
        tab.page.locator(".graph").wait_for()
        assert tab.axe_everywhere(1280, 400) == []
        server.release()
        tab.see("Quoted from your files")
        tab.press("How it came about")
        assert tab.axe_everywhere(1280, 400) == []
        tab.press("Menu")
        tab.page.get_by_text("More", exact=True).click()
        tab.page.get_by_role("searchbox", name="Find a chat").fill("rent")
        assert tab.axe_everywhere(400) == []
        tab.press("Keys")
        assert tab.axe_everywhere(1280, 400) == []


def test_axe_has_no_serious_finding_in_what_was_left_and_in_what_waits(browser, server):
    error = {"code": "failed", "message": "the model fell over", "hint": "ollama serve"}
    left = [
        unanswered("How much is the deposit?") | {"state": "failed", "error": error},
        unanswered("And the cellar?") | {"state": "cut off", "draft": "The cellar is"},
    ]
    running = [{"job": name, "question": question} for name, question in (("q1", "And the fence?"), ("q2", "And I?"))]
    server.threads["lease"] = {"name": "lease", "turns": [], "unanswered": left, "running": running}
    server.jobs["q1"] = Job("q1", "And the fence?", server.threads["lease"])
    server.answers["jobs"] = (200, {"jobs": [], "unfinished": [{"index": "default", "line": "12 of 40 files"}]})
    with browser.tab(server.url, axe=True, reduced_motion="reduce") as tab:
        tab.see("12 of 40 files")
        assert tab.axe_everywhere(1280, 400) == []
        tab.page.goto(server.url + "#/ask/lease")
        tab.see("The model fell over")
        tab.see("It is asked in its turn.")
        tab.has("article .badge", ["Failed", "Draft, not checked", "Cut off", "Waiting"])
        assert tab.axe_everywhere(1280, 400) == []
        server.jobs["q1"].ended = True


def test_the_keyboard_alone_is_enough(tab, server):
    page, keys = tab.page, tab.page.keyboard
    server.script(answer("The rent is 900 euros", 1))
    tab.page.locator("textarea:focus").wait_for()
    keys.type(QUESTION)
    keys.press("Enter")
    tab.see("Quoted from your files")
    focused = page.locator(":focus")
    reached = []
    for _ in range(40):
        keys.press("Shift+Tab")
        reached.append(focused.get_attribute("aria-label") or focused.inner_text())
        if reached[-1] == "Skip to the content":
            break
    wanted = ["How it came about", "Quote 1: show where it stands", "Keys", "New chat", "More", "Index", "Ask"]
    assert [name for name in reached if name in wanted] == wanted
    keys.press("Enter")
    tab.holds(lambda: page.evaluate("document.activeElement.id") == "main")
    keys.press("/")
    tab.page.locator("textarea:focus").wait_for()


def test_a_dialog_keeps_the_focus_and_gives_it_back(tab):
    tab.page.locator("textarea:focus").wait_for()  # which the page gives to the question box when it has loaded
    tab.press("Keys")
    dialog = tab.page.get_by_role("dialog")
    dialog.wait_for()
    for _ in range(5):
        tab.page.keyboard.press("Tab")
        inside = "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
        assert tab.page.evaluate(inside)
    tab.page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    tab.holds(lambda: tab.page.evaluate("document.activeElement.ariaLabel") == "Keys")


def test_a_screen_reader_hears_stages_and_the_answer(tab, server):
    server.script(started("retrieve", "searching your files"), HOLD, answer("The rent is 900 euros"))
    tab.ask(QUESTION)
    region = tab.page.get_by_role("status").last
    region.get_by_text("searching your files").wait_for(state="attached")
    server.release()
    region.get_by_text("The rent is 900 euros").wait_for(state="attached")


@pytest.mark.parametrize(("width", "height", "scale"), [(360, 640, 1), (640, 400, 2), (2560, 1300, 1)])
def test_nothing_is_cut_off_or_scrolls_sideways(browser, server, width, height, scale):
    """640 x 400 with two device pixels each is a window of 1280 x 800 at 200 % zoom."""
    options = {"viewport": {"width": width, "height": height}, "device_scale_factor": scale}
    long_word = "Donaudampfschifffahrtsgesellschaft" * 8
    with browser.tab(server.url, **options) as tab:
        server.script(answer(long_word, citations=(quote(1, f"{long_word}.pdf", long_word),)))
        tab.ask(long_word)
        tab.see("Quoted from your files")
        tab.press("How it came about")
        tab.page.locator(".graph").wait_for()
        for selector in ("html", ".conversation", ".composer"):
            wide = tab.page.locator(selector).evaluate("(element) => element.scrollWidth - element.clientWidth")
            assert wide <= 0, selector
        tab.button("Ask", exact=True).wait_for()


def test_nothing_moves_for_those_who_want_no_motion(browser, server):
    with browser.tab(server.url, reduced_motion="reduce") as tab:
        server.script(started("retrieve", "searching your files"), HOLD, answer())
        tab.ask(QUESTION)
        tab.see("Searching your files")
        assert tab.page.evaluate("document.getAnimations().filter((one) => one.playState === 'running').length") == 0
        server.release()


def test_the_colours_are_chosen_and_stay(tab):
    background = "getComputedStyle(document.documentElement).backgroundColor"
    seen = [tab.page.evaluate(background)]
    for name, chosen in (("as the system is", "light"), ("light", "dark")):
        tab.press(f"Colours: {name}")
        tab.page.locator(f"html[data-theme={chosen}]").wait_for()
        seen.append(tab.page.evaluate(background))
    assert seen[0] == seen[1] != seen[2]
    tab.page.reload()
    tab.page.locator("html[data-theme=dark]").wait_for()
    tab.holds(lambda: tab.page.evaluate(background) == seen[2])


def test_strings_are_never_markup(tab, server):
    text = {"t": "text", "s": HOSTILE}
    link = {"t": "link", "href": "javascript:alert(1)", "c": [text]}
    blocks = [
        {"t": "p", "c": [text, {"t": "cite", "n": 1}, link, {"t": "mark", "c": [text]}, {"t": "code", "s": HOSTILE}]},
        {"t": "pre", "s": HOSTILE},
        {"t": "table", "c": [{"t": "tr", "c": [{"t": "td", "c": [text]}]}]},
        {"t": "script", "c": [text]},
        {"t": "img", "src": "http://192.0.2.1/c.png", "href": "http://192.0.2.1/"},
    ]
    verdict = {"kind": HOSTILE, "verdict": HOSTILE, "why": HOSTILE, "score": 0.5, "chunk_id": "c1", "source": HOSTILE}
    shown = passage(1, HOSTILE, HOSTILE)
    hostile = quote(1, HOSTILE, HOSTILE, title=HOSTILE, author=HOSTILE)
    sides = (Position(HOSTILE, HOSTILE, (hostile,)), Position(HOSTILE, HOSTILE, (hostile,)))
    _, view = answer(
        HOSTILE,
        status="partial",
        reason=HOSTILE,
        citations=(hostile,),
        conflicts=(Conflict(sides),),
        asked=HOSTILE,
        removed=(HOSTILE,),
        decisions=(Graded(HOSTILE, HOSTILE, HOSTILE, "c1", 0.5, HOSTILE),),
        path=(HOSTILE,),
        engine=HOSTILE,
        language=HOSTILE,
    )
    view["blocks"].append({"kind": "paragraph", "nodes": blocks})
    server.script(
        started(HOSTILE, HOSTILE),
        ("retrieved", {"query": HOSTILE, "passages": [shown]}),
        ("graded", verdict),
        ("note", {"text": HOSTILE}),
        ("web_query", {"query": HOSTILE, "engine": HOSTILE, "asks": True}),
        token(HOSTILE),
        HOLD,
        ("answer", view),
    )
    tab.ask(HOSTILE)
    tab.button("Send these words").wait_for()
    tab.page.get_by_text("How it comes about").click()
    tab.page.locator(".passage").wait_for()
    server.release()
    tab.press("How it came about")
    tab.page.locator(".cite").first.wait_for()
    server.script(("error", {"code": HOSTILE, "message": HOSTILE, "hint": f"local-rag {HOSTILE}"}))
    tab.ask("Again")
    tab.page.get_by_role("alert").wait_for()
    for menu in tab.button("Rename, save or delete").all():
        menu.click()
        tab.page.keyboard.press("Escape")
    kinds = tab.page.evaluate(
        "[...new Set([...document.querySelectorAll('#app *')].map((one) => one.tagName.toLowerCase()))]"
    )
    assert not {"script", "iframe", "object", "embed", "base", "form[action]"} & set(kinds)
    assert tab.page.locator("img").evaluate_all("(images) => images.map((one) => one.getAttribute('src'))") == [
        "/page/icon.svg"
    ]
    tab.has("a[href^='javascript']", [])
    tab.holds(lambda: tab.page.evaluate("document.querySelector('.answer pre').textContent") == HOSTILE)


def test_a_link_of_an_answer_shows_its_address_before_it_leads_anywhere(tab, server):
    href = "https://example.org/a?b=c"
    server.script(answer(f"[your bank]({href})", quotes_only=False))
    tab.ask(QUESTION)
    tab.press("your bank")
    dialog = tab.page.get_by_role("dialog")
    dialog.get_by_text(href).wait_for()
    there = dialog.get_by_role("link", name="Open it in a new tab")
    tab.holds(lambda: there.get_attribute("href") == href)
    tab.holds(lambda: there.get_attribute("rel") == "noopener noreferrer")
    tab.page.keyboard.press("Escape")
    assert tab.page.url.startswith(server.url)
