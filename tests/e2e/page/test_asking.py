"""A question in a real browser, over the real API and a scripted engine: from the first stage to the answer."""

from support.asking import Steps, scripted
from support.fakes import FakeCorpus, ScriptedEngine, ScriptedEvaluator, passage

PLAN, FINE, ANSWERED = "What does the plan cost?", "It costs 100 euros [1].", "Supported by your files"
DRAFT = "## Rent\n\n1. *One*\n\n| A | B |\n|---|---|\n| `2` | 3 |\n\n```\nx = 1\n```\n\nThe rent is **700"


def test_stages_drafts_and_the_answer(browser):
    steps = Steps("relevance", "answer", "grade")
    drafts = [DRAFT, "It costs 100 euros [1] or 200 euros [2]."]
    engine = ScriptedEngine(at=steps, drafts=drafts, grades=[("no", 5), ("fully", 5)])
    with browser.signed_in(scripted(engine)) as tab:
        tab.page.locator("textarea:focus").wait_for()
        for empty in ("", "   "):
            tab.ask(empty)
        assert tab.button("Ask", exact=True).is_disabled() and engine.asked == []
        tab.ask(PLAN)
        tab.see("Grading 4 passages")
        for _ in ("relevance", "answer"):
            steps.go_on()
        tab.see("Draft, not checked yet")
        drawn = {"h3": ["Rent"], "ol em": ["One"], "td": ["2", "3"], "td code": ["2"], "pre": ["x = 1"]}
        for selector, texts in {**drawn, "strong": ["700"]}.items():
            tab.has(f".draft {selector}", texts)
        steps.go_on()
        tab.see("Draft, taken back")
        tab.see("not supported")
        steps.go_on()
        tab.see("It costs 100 euros")
        steps.go_on()
        tab.see(ANSWERED)
        article = tab.page.get_by_role("article")
        tab.has("article .cite", ["1", "2"])
        tab.holds(lambda: "700" not in article.inner_text() and "Draft" not in article.inner_text())
        tab.page.locator("textarea:focus").wait_for()


def test_verdicts_stand_beside_their_passages_and_the_running_node_is_lit(browser):
    from playwright.sync_api import expect

    steps = Steps("answer")
    engine = ScriptedEngine(
        at=steps,
        relevant=["yn?"],
        scores=[[0.91, 0.05]],
        drafts=["The plan costs 100 euros [1]. Pets are welcome [1]."],
    )
    corpus = FakeCorpus([passage(1, "The plan costs 100 euros. Pets are welcome."), passage(2), passage(3)])
    shown = [("/notes/1.md", "relevant", "0.91"), ("/notes/2.md", "irrelevant", "0.05"), ("3.md", "it said nothing")]
    with browser.signed_in(scripted(engine, corpus=corpus)) as tab:
        tab.ask(PLAN)
        tab.see("Writing")
        tab.holds(lambda: tab.page.get_by_text("irrelevant").count() == 0)
        tab.page.get_by_text("How it comes about").click()
        passages = tab.page.locator(".passage")
        expect(passages).to_have_count(3)
        for number, parts in enumerate(shown):
            for part in parts:
                expect(passages.nth(number)).to_contain_text(part)
        expect(tab.page.locator(".graph .running")).to_have_text(["Write the answer"])
        taken = ["question", "Search your files", "Check the passages"]
        expect(tab.page.locator(".graph g.taken")).to_contain_text(taken)
        steps.go_on()
        tab.press("How it came about")
        expect(tab.page.locator(".graph .running")).to_have_count(0)
        tab.expected.append("status of 404")  # no index has this file
        tab.has(".source .number", ["1"])
        tab.has(".source .quote", ["The plan costs 100 euros.", "Pets are welcome."])
        tab.has(".source .stands", ["stands word for word in your file"])
        for number in (0, 1):
            mark = tab.page.locator(".cite").nth(number)
            mark.click()
            tab.see(f"Quote {number + 1} of 2")
            tab.holds(lambda mark=mark: mark.get_attribute("aria-pressed") == "true")
            tab.has(".cite[aria-pressed=true]", ["1"])
        tab.page.locator(".source .quote").first.click()
        tab.see("Quote 1 of 2")


def test_settings_of_a_question_are_sent_and_the_usual_ones_are_not(browser):
    sent = []

    def ask_plainly(route):
        sent.append(route.request.post_data_json)
        plain = {name: sent[-1][name] for name in ("question", "thread", "detail")}
        route.continue_(post_data=plain)

    def more_choices(route):
        more = {"indexes": ["main", "mail"], "models": ["qwen3:4b"], "web": ["off", "ask"]}
        route.fulfill(json=route.fetch().json() | more)

    with browser.signed_in(scripted()) as tab:
        tab.expected.append("status of 404")  # no index is called so
        tab.page.route("**/api/ask", ask_plainly)
        tab.page.route("**/api/choices", more_choices)
        tab.page.reload()
        tab.holds(lambda: tab.page.get_by_label("Thoroughness").count() == 0)  # folded away
        tab.press("Settings")
        for label, value in {"Thoroughness": "crag", "Answers": "qwen3:4b", "Web": "ask", "Index": "mail"}.items():
            tab.page.get_by_label(label).select_option(value)
        typed = {
            "Files by pattern": "*.pdf, contracts/**",
            "File types": "pdf",
            "Author or sender": "Huber, Maier",
            "Dated since": "2023-03-31",
            "Dated before": "2024-01-01",
            "Passages to read": "9",
        }
        for label, value in typed.items():
            tab.page.get_by_label(label).fill(value)
        tab.press("Settings")
        tab.ask(PLAN)
        tab.see(ANSWERED)
        chosen = {
            "graph": "crag", "engine": "ollama", "model": "qwen3:4b", "web": True, "index": "mail", "k": 9,
            "within": "*.pdf, contracts/**", "types": "pdf", "authors": "Huber, Maier",
            "after": "2023-03-31", "before": "2024-01-01",
        }  # fmt: skip
        assert sent[-1] == {"question": PLAN, "thread": "", "detail": True, **chosen}
        tab.press("Thoroughness: checks passages")
        tab.button("Thoroughness: checks passages").wait_for(state="detached")
        tab.ask(PLAN)
        tab.page.locator("article").nth(1).locator(".status").wait_for()
        assert "graph" not in sent[-1] and sent[-1]["k"] == 9
        tab.press("All as usual")
        tab.ask(PLAN)
        tab.page.locator("article").nth(2).locator(".status").wait_for()
        assert sent[-1].keys() == {"question", "thread", "detail"}


def test_an_answer_that_files_do_not_give_shows_the_nearest_passages(browser):
    with browser.signed_in(scripted(ScriptedEngine(relevant=["n"]))) as tab:
        tab.ask(PLAN)
        tab.has("article h3", ["Closest:"])
        tab.has("section > ol .source mark", ["plan", "costs"])
        for seen in ("I could not tell from your files", "2 further", "The index is about: Plan"):
            tab.see(seen)
        why = tab.page.locator(".status + details p")
        tab.has(".status + details p", ["none of the 4 passages found answers the question"])
        assert not why.is_visible()
        tab.page.get_by_text("Why", exact=True).click()
        tab.holds(why.is_visible)
        tab.ask("hello")
        tab.page.locator("article").nth(1).locator(".status").wait_for()
        tab.holds(lambda: tab.page.get_by_text("The index is about").count() == 1)


def test_files_that_disagree_stand_side_by_side(browser):
    said = {1: ("three months", "2019-05-01"), 2: ("six months", "2023-02-01")}
    leases = [
        passage(number, f"The notice period of the lease is {text}.", title=f"Lease {number}", date=date, modified=date)
        for number, (text, date) in said.items()
    ]
    engine = ScriptedEngine(drafts=["The notice period of the lease is three months [1]."])
    evaluator = ScriptedEvaluator({text: 0.95 for text, _ in said.values()})
    with browser.signed_in(scripted(engine, corpus=FakeCorpus(leases), evaluator=evaluator)) as tab:
        tab.ask("How long is the notice period of the lease?")
        tab.see("This probably answers your question. Check the quote.")
        tab.has(
            ".conflict li",
            ["[1] Lease 2 2023-02-01 six months", "[2] Lease 1 2019-05-01 three months"],
        )
        tab.holds(lambda: tab.page.locator("main").inner_text().count("files disagree") == 1)
        tab.has(".source .number", ["1", "2"])


def test_a_refusal_of_the_server_says_what_to_do(browser):
    error = {"code": "forbidden", "message": "a request from another site", "hint": "open the page itself"}
    with browser.signed_in(scripted()) as tab:
        tab.page.route("**/api/ask", lambda route: route.fulfill(status=403, json={"error": error}))
        tab.expected.append("status of 403")
        tab.ask(PLAN)
        tab.page.get_by_role("alert").get_by_text(error["message"]).wait_for()
        tab.holds(lambda: "Open the page itself" in tab.page.get_by_role("alert").inner_text())
