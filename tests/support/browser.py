"""Open tabs of Debian's Chromium that remember forbidden things: errors in the console, requests to other machines.

    with Browser.open() as browser, browser.tab("http://127.0.0.1:8000/") as tab:
        tab.page.get_by_role("button", name="Ask").click()

Leaving a tab fails on everything that it remembers and that `expected` does not name.
"""

import shutil
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

import pytest

from support.serving import served, signing_in

AXE = Path(__file__).parents[1] / "data" / "axe" / "axe.min.js"
SERIOUS = ("serious", "critical")
DROP = """([name, text]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], name));
    for (const kind of ["dragover", "drop"])
        document.body.dispatchEvent(new DragEvent(kind, {dataTransfer: transfer, bubbles: true, cancelable: true}));
}"""
"""What a file does that is dropped on the page."""


class Tab:
    """Hold a page and its errors; `expected` are parts of console messages that a test provokes."""

    def __init__(self, page, origin):
        self.page, self.origin, self.problems, self.expected = page, origin, [], []

    @property
    def box(self):
        """Return the question box of the page, which is brought to the front to receive keys."""
        self.page.bring_to_front()
        return self.page.get_by_role("textbox", name="Question")

    def ask(self, question):
        """Type a question and press Enter."""
        self.box.fill(question)
        self.box.press("Enter")

    def button(self, name, **options):
        """Return the buttons of this name."""
        return self.page.get_by_role("button", name=name, **options)

    def press(self, name, **options):
        """Click the button of this name."""
        self.page.bring_to_front()  # behind others it draws a frame per second, and a click waits for two
        self.button(name, **options).click()

    def drop(self, name, text):
        """Drop a file on the page."""
        self.page.evaluate(DROP, [name, text])

    def follow(self, name):
        """Click the link of this name."""
        self.page.get_by_role("link", name=name).click()

    def heading(self, name, **options):
        """Wait until there is a heading of this name."""
        self.page.get_by_role("heading", name=name, **options).wait_for()

    def see(self, text):
        """Wait until a text is visible outside of the live region, which repeats some texts."""
        self.page.locator("#app > :not([role=status])").get_by_text(text).first.wait_for()

    def gone(self, text):
        """Wait until a text is no longer visible."""
        self.page.get_by_role("main").get_by_text(text).first.wait_for(state="detached")

    def has(self, selector, texts):
        """Wait until the elements of a selector have these texts."""
        from playwright.sync_api import expect

        expect(self.page.locator(selector)).to_have_text(texts)

    def holds(self, seen):
        """Wait until a condition on the page is true, because the page draws in its own time."""
        patience = monotonic() + 120
        while not seen():
            assert monotonic() < patience, "the page never came to it"
            self.page.wait_for_timeout(50)

    def in_view(self, selector):
        """Wait until an element is scrolled into view."""
        visible = (
            "(element) => new Promise((seen) => new IntersectionObserver((entries) =>"
            " entries.some((entry) => entry.isIntersecting) && seen(true)).observe(element))"
        )
        self.page.locator(selector).evaluate(visible)

    def watch(self):
        """Remember errors and foreign requests from here on."""
        self.page.on("console", lambda message: self._console(message))
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("request", lambda request: self._request(request.url))
        self.page.on("dialog", lambda dialog: self._dialog(dialog))

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.problems.append(f"console: {message.text} {message.location.get('url', '')}")

    def _request(self, url):
        if urlsplit(url).netloc != self.origin:
            self.problems.append(f"foreign request: {url}")

    def _dialog(self, dialog):
        self.problems.append(f"script ran: {dialog.message}")
        dialog.dismiss()

    def unexpected(self):
        """Return the errors that were not expected."""
        return [problem for problem in self.problems if not any(part in problem for part in self.expected)]

    def axe(self):
        """Return the serious findings of axe-core, each in a line."""
        options = {"resultTypes": ["violations"]}
        found = self.page.evaluate("async (options) => (await axe.run(document, options)).violations", options)
        return [
            f"{violation['id']}: {node['html'][:160]} {node['failureSummary']}"
            for violation in found
            if violation["impact"] in SERIOUS
            for node in violation["nodes"]
        ]

    def axe_everywhere(self, *widths):
        """Return what axe finds at these widths, in light and dark colours, and what is wider; the last width stays."""
        found = []
        for width in widths:
            self.page.set_viewport_size({"width": width, "height": 800})
            for scheme in ("light", "dark"):
                self.page.emulate_media(color_scheme=scheme)
                found += [f"{width} {scheme}: {line}" for line in self.axe()]
            if (wide := self.page.evaluate("document.documentElement.scrollWidth")) > width:
                found.append(f"{width}: the view is {wide} wide")
        return found


class Browser:
    """Run a Chromium without a window; each tab has its own cookies and storage, unless it is opened beside another."""

    def __init__(self, chromium):
        self._chromium = chromium

    @classmethod
    @contextmanager
    def open(cls):
        """Start Chromium, or skip the test with the reason why it cannot start."""
        path = cls.path()
        from playwright.sync_api import expect, sync_playwright

        expect.set_options(timeout=120_000)  # a busy machine takes its time
        with sync_playwright() as running:
            chromium = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
            try:
                yield cls(chromium)
            finally:
                chromium.close()

    @staticmethod
    def path():
        """Return the path of Chromium; skip the test if it or Playwright is not installed."""
        pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        if path is None:
            pytest.skip("there is no chromium on this machine")
        return path

    @contextmanager
    def signed_in(self, workspace, view="", **options):
        """Give a tab at a view of a server of this workspace."""
        with served(workspace) as address, self.tab(signing_in(workspace, address), **options) as tab:
            if view:
                tab.page.goto(f"{address}/{view}")
            yield tab

    @contextmanager
    def tab(self, url, *, beside=None, axe=False, **options):
        """Give a tab at an address; `options` are those of Playwright's context, such as viewport and color_scheme."""
        context = beside.page.context if beside else self._chromium.new_context(**options)
        if axe:
            context.add_init_script(path=AXE)
        tab = Tab(context.new_page(), urlsplit(url).netloc)
        tab.page.set_default_timeout(120_000)
        tab.watch()
        tab.page.goto(url)
        yield tab
        tab.page.unroute_all(behavior="ignoreErrors")
        problems = tab.unexpected()
        (tab.page if beside else context).close()
        assert problems == []
