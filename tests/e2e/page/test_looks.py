"""What everybody can use: keyboard, screen reader, widths, colours, motion; and strings that look like markup."""

import pytest
from support.asking import Steps, scripted
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine, passage

PLAN, ANSWERED = "What does the plan cost?", "Supported by your files"
KEPT = ("graph", "status", "at", "file_id")
HOSTILE = (
    "<img src=x onerror=alert(1)><script>alert(2)</script>[a](javascript:alert(3)) "
    "![b](http://192.0.2.1/c.png) \u202egpj.exe ${alert(4)} {{5}} </textarea>"
)


@pytest.fixture
def tab(browser):
    with browser.signed_in(scripted()) as opened:
        yield opened


def test_axe_has_no_serious_finding(browser, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_GRAPH", "crag")
    engine, web = ScriptedEngine(relevant=["ynyy", "y"]), FakeWeb()
    with browser.signed_in(scripted(engine, web=web), axe=True, reduced_motion="reduce") as tab:
        tab.see("What do you want to know?")
        tab.press("Settings")
        tab.page.get_by_label("Files by pattern").fill("*.pdf")
        tab.button("Files by pattern: *.pdf").wait_for()
        assert tab.axe_everywhere(1280, 400) == []
        tab.ask(PLAN)
        tab.see(f"{PLAN} 1")
        tab.page.get_by_text("How it comes about").click()
        tab.page.locator(".graph").wait_for()
        assert tab.axe_everywhere(1280, 400) == []
        assert not web.queries, "words leave only after a click"
        tab.press("Send these words")
        tab.see(ANSWERED)
        assert web.queries == [f"{PLAN} 1"]
        tab.press("How it came about")
        assert tab.axe_everywhere(1280, 400) == []
        tab.press("Menu")
        tab.page.get_by_text("More", exact=True).click()
        tab.page.get_by_role("searchbox", name="Find a chat").fill("plan")
        assert tab.axe_everywhere(400) == []
        tab.press("Keys")
        assert tab.axe_everywhere(1280, 400) == []


def test_the_keyboard_alone_is_enough(tab):
    page, keys = tab.page, tab.page.keyboard
    tab.page.locator("textarea:focus").wait_for()
    keys.type(PLAN)
    keys.press("Enter")
    tab.see(ANSWERED)
    focused = page.locator(":focus")
    reached = []
    for _ in range(40):
        keys.press("Shift+Tab")
        reached.append(focused.get_attribute("aria-label") or focused.inner_text())
        if reached[-1] == "Skip to the content":
            break
    wanted = ["How it came about", "Quote 1: show where it stands", "Keys", "New chat", "More", "Files", "Ask"]
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


def test_a_screen_reader_hears_stages_and_the_answer_and_nothing_moves_without_need(browser):
    steps = Steps("relevance")
    with browser.signed_in(scripted(ScriptedEngine(at=steps)), reduced_motion="reduce") as tab:
        tab.ask(PLAN)
        region = tab.page.get_by_role("status").last
        region.get_by_text("grading 4 passages").wait_for(state="attached")
        assert tab.page.evaluate("document.getAnimations().filter((one) => one.playState === 'running').length") == 0
        steps.go_on()
        region.get_by_text("It costs 100 euros").wait_for(state="attached")


def test_nothing_is_cut_off_or_scrolls_sideways(browser):
    """640 x 400 is a window of 1280 x 800 at 200 % zoom."""
    long_word = "Donaudampfschifffahrtsgesellschaft" * 8
    engine = ScriptedEngine(drafts=[f"The {long_word} costs 100 euros [1]."])
    corpus = FakeCorpus([passage(1, f"The {long_word} costs 100 euros.", source=f"/notes/{long_word}.pdf")])
    with browser.signed_in(scripted(engine, corpus=corpus)) as tab:
        tab.ask(f"What does the {long_word} cost?")
        tab.see(ANSWERED)
        tab.press("How it came about")
        tab.page.locator(".graph").wait_for()
        for width, height in ((360, 640), (640, 400), (2560, 1300)):
            tab.page.set_viewport_size({"width": width, "height": height})
            for selector in ("html", ".conversation", ".composer"):
                part = tab.page.locator(selector)
                tab.holds(lambda part=part: part.evaluate("(part) => part.scrollWidth <= part.clientWidth"))
            tab.button("Ask", exact=True).wait_for()


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


def test_strings_are_never_markup(browser):
    """Whatever a server sent: neither what it shows as it comes, nor what it makes of an answer."""
    text = {"t": "text", "s": HOSTILE}
    link = {"t": "link", "href": "javascript:alert(1)", "c": [text]}
    nodes = [
        {"t": "p", "c": [text, {"t": "cite", "n": 1}, link, {"t": "mark", "c": [text]}, {"t": "code", "s": HOSTILE}]},
        {"t": "pre", "s": HOSTILE},
        {"t": "table", "c": [{"t": "tr", "c": [{"t": "td", "c": [text]}]}]},
        {"t": "script", "c": [text]},
        {"t": "img", "src": "http://192.0.2.1/c.png", "href": "http://192.0.2.1/"},
    ]

    def hostile(value):
        """The same with this text for every other one."""
        if isinstance(value, dict):
            kept = KEPT if "verdict" in value else {*KEPT, "kind"}
            same = {name: each if name in kept else hostile(each) for name, each in value.items()}
            return same | ({"nodes": nodes} if "nodes" in value else {})
        if isinstance(value, list):
            return [hostile(each) for each in value]
        return HOSTILE if isinstance(value, str) else value

    corpus = FakeCorpus([passage(1, f"It costs 100 euros {HOSTILE}.", source=f"/notes/{HOSTILE}.md")])
    workspace = scripted(ScriptedEngine(drafts=[f"It costs 100 euros {HOSTILE} [1]."]), corpus=corpus)
    with browser.signed_in(workspace) as tab:
        tab.ask(HOSTILE)
        tab.press("How it came about")
        tab.page.locator(".passage").wait_for()
        tab.page.route("**/api/thread?*", lambda route: route.fulfill(json=hostile(route.fetch().json())))
        tab.page.reload()
        tab.page.locator(".cite").wait_for()
        tab.press("How it came about")
        tab.page.locator(".graph").wait_for()
        error = {"code": HOSTILE, "message": HOSTILE, "hint": HOSTILE}
        tab.expected.append("status of 400")
        tab.page.route("**/api/ask", lambda route: route.fulfill(status=400, json={"error": error}))
        tab.ask("Again")
        tab.page.get_by_role("alert").wait_for()
        kinds = tab.page.evaluate(
            "[...new Set([...document.querySelectorAll('#app *')].map((one) => one.tagName.toLowerCase()))]"
        )
        assert not {"script", "iframe", "object", "embed", "base", "form[action]"} & set(kinds)
        sources = tab.page.locator("img").evaluate_all("(images) => images.map((one) => one.getAttribute('src'))")
        assert sources == ["/page/icon.svg"]
        tab.has("a[href^='javascript']", [])
        tab.holds(lambda: tab.page.evaluate("document.querySelector('.answer pre').textContent") == HOSTILE)


def test_a_link_of_an_answer_shows_its_address_before_it_leads_anywhere(browser):
    href = "https://example.org/a?b=c"
    engine = ScriptedEngine(drafts=[f"It costs 100 euros, says [your bank]({href}) [1]."])
    with browser.signed_in(scripted(engine)) as tab:
        tab.ask(PLAN)
        tab.press("your bank")
        dialog = tab.page.get_by_role("dialog")
        dialog.get_by_text(href).wait_for()
        there = dialog.get_by_role("link", name="Open it in a new tab")
        tab.holds(lambda: there.get_attribute("href") == href)
        tab.holds(lambda: there.get_attribute("rel") == "noopener noreferrer")
        tab.page.keyboard.press("Escape")
        assert tab.page.url.startswith(f"http://{tab.origin}/")
