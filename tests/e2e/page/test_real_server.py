"""The page and the real API beneath it: over uvicorn, with real files, the extractive engine and a scripted one."""

import re
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from support.asking import Gated, scripted
from support.fakes import ScriptedEngine
from support.serving import Client, a_workspace, index_here, served, signing_in
from support.web_server import WebServer, html

from local_rag.server.auth import new_code
from local_rag.server.serving import noted

LEASE = """# Rent

The rent of the flat in Elm Street is 900 euros a month.

# Deposit

The deposit of the flat in Elm Street is 1800 euros.
"""
RENT = "How much is the rent of the flat in Elm Street?"

OVERLAPS = """(graph) => {
    const boxes = [...graph.querySelectorAll("rect, .label")].map((one) => [one.outerHTML, one.getBBox()]);
    const right = (box) => box.x + box.width;
    const bottom = (box) => box.y + box.height;
    const within = (a, b) => a.x >= b.x && a.y >= b.y && right(a) <= right(b) && bottom(a) <= bottom(b);
    const meet = (a, b) => a.x < right(b) && b.x < right(a) && a.y < bottom(b) && b.y < bottom(a);
    const points = (path) =>
        [...Array(400).keys()].map((at) => path.getPointAtLength((path.getTotalLength() * at) / 399));
    const inside = ({ x, y }, box) =>
        x > box.x + 1 && x < right(box) - 1 && y > box.y + 1 && y < bottom(box) - 1;
    const over = boxes.flatMap(([one, a], at) =>
        boxes.slice(at + 1).filter(([, b]) => meet(a, b)).map(([other]) => `${one} meets ${other}`));
    const through = [...graph.querySelectorAll(":scope > path")].flatMap((path) => {
        const way = points(path);
        return boxes.filter(([, box]) => way.some((point) => inside(point, box))).map(([one]) =>
            `${path.outerHTML} leads through ${one}`);
    });
    const long = [...graph.querySelectorAll("g")].filter((node) =>
        !within(node.querySelector("text").getBBox(), node.querySelector("rect").getBBox()));
    const outside = boxes.filter(([, box]) => !within(box, graph.viewBox.baseVal));
    return [...over, ...through, ...long.map((node) => node.outerHTML), ...outside.map(([one]) => one)];
}"""
"""What of a drawing lies over something else, sticks out of its box, or leads through one."""


@pytest.fixture
def files(home, converted, monkeypatch):
    """A file that is indexed and is asked without a language model."""
    monkeypatch.setenv("LOCAL_RAG_ENGINE", "extractive")
    (home / "lease.md").write_text(LEASE)
    index_here(home / "lease.md")


def test_the_source_of_a_chat_program_opens_at_its_place(browser, files):
    workspace = a_workspace()
    with served(workspace) as address, Client(workspace, address, "key") as program:
        asked = {"model": "local-rag", "messages": [{"role": "user", "content": RENT}]}
        reply = program.posted("/v1/chat/completions", asked)
        url = reply["choices"][0]["message"]["annotations"][0]["url_citation"]["url"]
        with browser.tab(signing_in(workspace, address)) as tab, browser.tab(url, beside=tab) as source:
            source.has(".stored mark", ["The rent of the flat in Elm Street is 900 euros a month."])


def test_a_quote_is_opened_stepped_through_and_closed_by_keyboard(browser, files):
    with browser.signed_in(a_workspace()) as tab:
        tab.ask("What is the rent of the flat in Elm Street and how much is the deposit?")
        tab.page.locator("article .status").wait_for()
        source, keys = tab.page.locator(".source"), tab.page.get_by_role("dialog")
        tab.press("Keys")
        tab.holds(lambda: "Escape" in keys.inner_text() and "Alt" not in keys.inner_text())
        tab.page.keyboard.press("Escape")
        source.first.focus()
        tab.page.keyboard.press("Enter")
        pane = tab.page.get_by_role("complementary", name="Document")
        marked = pane.locator(".stored mark").first
        tab.holds(lambda: marked.inner_text() in source.first.locator(".quote").first.inner_text())
        pane.get_by_text("Quote 1 of").wait_for()
        tab.holds(lambda: tab.button("Next quote").get_attribute("title") == "Next quote (Alt + ↓)")
        tab.page.keyboard.press("Alt+ArrowDown")
        pane.get_by_text("Quote 2 of").wait_for()
        tab.page.keyboard.press("Alt+ArrowUp")
        pane.get_by_text("Quote 1 of").wait_for()
        tab.press("Keys")
        tab.holds(lambda: "Alt + ↓" in keys.inner_text())
        tab.page.keyboard.press("Escape")
        keys.wait_for(state="detached")
        tab.page.keyboard.press("Escape")
        pane.wait_for(state="detached")
        tab.holds(lambda: tab.page.evaluate("document.activeElement.className") == "source")


def test_every_graph_is_drawn_with_the_path_that_was_taken(browser):
    from playwright.sync_api import expect

    with browser.signed_in(scripted()) as tab:
        for number, graph in enumerate(["plain", "self-rag", "crag", "adaptive"]):
            tab.press("Settings")
            tab.page.get_by_role("combobox", name="Thoroughness").select_option(graph)
            tab.ask(RENT)
            article = tab.page.locator("article").nth(number)
            article.get_by_role("button", name="How it came about").click()
            expect(article.locator(".graph g.taken").last).to_have_text("answer")
            assert article.locator(".graph").evaluate(OVERLAPS) == []
            assert not re.search(r"_|vectorstore|llm|retries", article.locator(".graph").text_content())


@contextmanager
def answering(browser):
    """A tab whose question is being answered, the engine that waits for its gate, and the workspace."""
    workspace = scripted(engine := Gated())
    with browser.signed_in(workspace, axe=True, reduced_motion="reduce") as tab:
        tab.ask("What does the plan cost?")
        assert engine.working.wait(60)
        tab.page.wait_for_url("**/#/ask/*")  # the browser knows the thread by now
        yield tab, engine, workspace


def test_a_question_is_stopped_by_a_key_in_another_tab_and_from_another_view_and_asked_again(browser):
    with ExitStack() as tabs:
        tab, engine, workspace = tabs.enter_context(answering(browser))
        second, elsewhere = (
            tabs.enter_context(browser.tab(url, beside=tab)) for url in (tab.page.url, f"http://{tab.origin}/#/nowhere")
        )
        elsewhere.expected.append("status of 401")  # until another tab has told it that they are signed in
        elsewhere.heading("Not here")
        for again, stop in enumerate(
            (
                lambda: elsewhere.press("Stop: What does the plan cost?"),
                lambda: second.press("Stop", exact=True),
                lambda: second.box.press("Escape"),
            )
        ):
            if again:
                second.press("Ask again")
            second.see("Draft, not checked yet")
            stop()
            second.see("Stopped")
            tab.see("Stopped")
        second.press("Rename, save or delete")
        dialog = second.page.get_by_role("dialog")
        second.holds(lambda: dialog.inner_text() and dialog.get_by_role("link").count() == 0)  # nothing to be saved
        second.page.keyboard.press("Escape")
        engine.gate.set()
        second.press("Ask again")
        second.see("Supported by your files")
        second.has("article h2", ["What does the plan cost?"])
        second.has("article .badge", ["Supported by your files"])
        elsewhere.has(".jobs li", [])
        assert workspace.jobs.questions() == []


def test_questions_of_a_tab_and_of_another_wait_in_line_and_follow_the_first(browser):
    with answering(browser) as (tab, engine, workspace), browser.tab(f"http://{tab.origin}/", beside=tab) as other:
        other.ask("And the fence?")
        other.see("One question is answered before yours.")
        for question in ("And the other plan?", "And the third?"):
            tab.ask(question)
            tab.page.get_by_role("article", name=question).get_by_text("It is asked in its turn.").wait_for()
        assert tab.axe_everywhere(400, 1280) == []
        tab.page.reload()
        tab.see("Draft, not checked yet")
        third = tab.page.get_by_role("article", name="And the third?")
        third.get_by_role("button", name="Stop").click()
        third.get_by_text("Stopped").wait_for()
        with browser.tab(signing_in(workspace, f"http://{tab.origin}")) as anew:
            anew.page.locator(".threads li a", has_text="What does the plan cost").first.click()
            anew.see("Draft, not checked yet")
            engine.gate.set()
            anew.see("Supported by your files")
        tab.page.get_by_role("article", name="And the other plan?").get_by_text("Supported by your files").wait_for()
        tab.see("understood as: And the other plan? (What does the plan cost?)")
        other.see("Supported by your files")
        other.gone("answered before yours.")
        tab.page.reload()
        tab.has("article h2", ["What does the plan cost?", "And the other plan?", "And the third?"])


def test_a_question_that_failed_or_was_refused_is_there_after_a_reload_with_its_reason(browser):
    engine = ScriptedEngine()
    engine.broken = True
    workspace = scripted(engine)
    with browser.signed_in(workspace, axe=True, reduced_motion="reduce") as tab:
        tab.expected.append("status of 404")
        tab.ask("What does the plan cost?")
        alert = tab.page.get_by_role("alert")
        alert.get_by_text("The model fell over").wait_for()
        tab.holds(lambda: "ollama serve" not in alert.inner_text())  # a command is for a terminal
        tab.press("Settings")
        tab.page.get_by_label("Thoroughness").select_option("crag")
        alert.get_by_role("button", name="Try again").click()
        tab.holds(lambda: workspace.history.runs()[0].graph == "crag")  # as settings are now
        tab.see("The model fell over")
        wrong = {"question": "And the other?", "thread": tab.page.get_by_role("heading", level=1).text_content()}
        tab.page.route("**/api/ask", lambda route: route.continue_(post_data={**wrong, "index": "none"}))
        tab.ask("And the other?")
        tab.see("There is no index 'none' here")
        tab.page.unroute("**/api/ask")
        tab.page.reload()
        tab.has("article .badge", ["Failed", "Refused"])
        tab.see("The model fell over")
        tab.see("There is no index 'none' here")
        assert tab.axe_everywhere(400, 1280) == []
        engine.broken = False
        tab.page.get_by_role("article", name="And the other?").get_by_role("button", name="Ask again").click()
        tab.see("Supported by your files")
        tab.has("article h2", ["What does the plan cost?", "And the other?"])


def test_an_address_signs_a_browser_in_once_and_for_as_long_as_the_server_runs(browser):
    workspace = scripted()
    with served(workspace) as address:
        with browser.tab(address) as stranger:
            stranger.expected.append("status of 401")
            stranger.see("This page is not signed in")
            signing = signing_in(workspace, address)
            stranger.page.goto(signing)
            stranger.see("What do you want to know?")
            assert stranger.page.url == f"{address}/"
            with browser.tab(address, beside=stranger) as other:
                stranger.page.goto("about:blank")
                other.see("What do you want to know?")
                other.page.goto("about:blank")
            stranger.page.goto(f"{address}/#/search")  # all tabs of it were closed
            stranger.see("The passages of your files that fit best")
        with browser.tab(signing) as late:
            late.expected.append("status of 401")
            late.see("This page is not signed in")
            late.see("local-rag serve --print-url")


def test_a_refusal_that_comes_late_keeps_no_tab_signed_out(browser):
    with browser.signed_in(scripted()) as tab:
        tab.see("What do you want to know?")
        tab.expected.append("status of 401")
        checked = []
        tab.page.on("request", lambda request: request.url.endswith("/api/health") and checked.append(request))
        tab.page.route("**/api/threads", lambda route: route.fulfill(status=401, json={}), times=1)
        tab.page.evaluate("window.dispatchEvent(new Event('focus'))")
        tab.holds(lambda: checked)
        tab.see("What do you want to know?")
        tab.gone("This page is not signed in")


LISTENING = """<!doctype html><script>
const heard = [], tabs = new BroadcastChannel("session");
tabs.onmessage = ({ data }) => heard.push(data);
tabs.postMessage("");
</script>"""


def test_a_server_of_another_port_is_sent_the_cookie_and_reads_and_hears_nothing(browser):
    workspace = scripted()
    with browser.signed_in(workspace) as tab, WebServer() as stranger:
        stranger.pages["*"] = html(LISTENING)
        tab.see("What do you want to know?")
        with browser.tab(stranger.url(), beside=tab) as other:
            with browser.tab(f"http://{tab.origin}/", beside=tab) as own:
                own.expected.append("status of 401")
                own.holds(lambda: own.page.evaluate("localStorage.secret") == workspace.access.secret)
            assert other.page.evaluate("[heard.length, localStorage.length, sessionStorage.length]") == [0, 0, 0]
        cookie = stranger.requests[0].headers["cookie"]
        assert workspace.access.session in cookie
        assert httpx.get(f"http://{tab.origin}/api/threads", headers={"cookie": cookie}).status_code == 401


def test_the_page_that_a_browser_is_started_with_leads_to_the_signed_in_page(browser, tmp_path):
    workspace = scripted()
    with served(workspace) as address, noted(tmp_path, int(address.rpartition(":")[2])) as page:
        kept = re.sub(r"\?code=[\w-]+", f"?code={new_code(workspace.access.key)}", page.read_text())
        page.write_text(kept)
        with browser.tab(page.as_uri()) as tab:
            tab.origin = address.removeprefix("http://")
            tab.see("What do you want to know?")


def test_runs_are_listed_to_the_last(browser):
    from playwright.sync_api import expect

    workspace = scripted()
    with browser.signed_in(workspace) as tab:
        tab.ask("What does the plan cost?")
        tab.see("Supported by your files")
        history = workspace.history
        conditions = history.run("last").conditions
        for number in range(119):
            run = history.begin(f"What does plan {number} cost?", conditions=conditions, keep=200)
            history.end(run, "stopped", 0.5)
        tab.page.get_by_text("More", exact=True).click()
        tab.follow("History")
        rows = tab.page.locator("main ul.list > li")
        for shown in (50, 100):
            rows.nth(shown - 1).wait_for()
            expect(rows).to_have_count(shown)
            tab.press("Show more")
        rows.nth(119).wait_for()
        tab.holds(lambda: tab.button("Show more").count() == 0)
