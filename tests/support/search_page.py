"""A search engine's result page on loopback, in the shape that ddgs reads as DuckDuckGo's, with faults."""

from __future__ import annotations

import html
from urllib.parse import parse_qs

from local_rag.core import child_process
from support.web_server import WebServer, reply

RESULT = """
<div class="result results_links"><div class="links_main links_deep result__body">
  <h2 class="result__title"><a rel="nofollow" class="result__a" href="{href}">{title}</a></h2>
  <div class="result__extras"><a class="result__url" href="{href}">{href}</a></div>
  <a class="result__snippet" href="{href}">{body}</a>
</div></div>"""


class SearchPage(WebServer):
    """Use it in `with`. `statuses` go one per request, then 200; `hold` keeps every answer back till the end."""

    def __init__(self, *results):
        """A result is (title, link, snippet)."""
        super().__init__()
        self.results, self.statuses, self.asked = list(results), [], []
        self.location, self.hold, self.when_asked = None, False, lambda: None
        self.pages["*"] = self.answer

    @property
    def command(self):
        """For `search.COMMAND`: the process that searches asks this page for every engine."""
        return child_process.command("support.ddgs_on_page", self.url("/html/"))

    def answer(self, wire):
        form = wire.request.body or wire.request.path.partition("?")[2]
        self.asked.append({name: values[0] for name, values in parse_qs(form, keep_blank_values=True).items()})
        self.when_asked()
        if self.hold:
            wire.wait(20)
        rows = "".join(
            RESULT.format(title=html.escape(title), href=html.escape(href), body=html.escape(body))
            for title, href, body in self.results
        )
        body = f"<!doctype html><html><body><div id='links'>{rows}</div></body></html>".encode()
        reply(body, status=self.statuses.pop(0) if self.statuses else 200, Location=self.location)(wire)
