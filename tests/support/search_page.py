"""A search engine's result page on loopback, in the shape that ddgs reads as DuckDuckGo's, with faults."""

from __future__ import annotations

import html
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

RESULT = """
<div class="result results_links"><div class="links_main links_deep result__body">
  <h2 class="result__title"><a rel="nofollow" class="result__a" href="{href}">{title}</a></h2>
  <div class="result__extras"><a class="result__url" href="{href}">{href}</a></div>
  <a class="result__snippet" href="{href}">{body}</a>
</div></div>"""


class SearchPage:
    """Use it in `with`. `statuses` go one per request, then 200; `hold` keeps every answer back till the end."""

    def __init__(self, *results):
        """A result is (title, link, snippet)."""
        self.results = list(results)
        self.statuses = []
        self.location = ""
        self.hold = False
        self.asked = []
        self.when_asked = lambda: None
        self._end = threading.Event()

    def __enter__(self):
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                page.answer(self, self.rfile.read(int(self.headers["Content-Length"])).decode())

            def do_GET(self):
                page.answer(self, self.path.partition("?")[2])

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}/html/"

    @property
    def child(self):
        """For `search.CHILD`: the process that searches asks this page for every engine."""
        return ("support.ddgs_on_page", self.url)

    def answer(self, handler, form):
        self.asked.append({name: values[0] for name, values in parse_qs(form, keep_blank_values=True).items()})
        self.when_asked()
        if self.hold:
            self._end.wait(20)
        status = self.statuses.pop(0) if self.statuses else 200
        data = self.page().encode() if status == 200 else b"<html><body>are you human?</body></html>"
        try:
            handler.send_response(status)
            if self.location:
                handler.send_header("Location", self.location)
            handler.send_header("Content-Type", "text/html; charset=utf-8")
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)
        except OSError:
            handler.close_connection = True  # the client is gone

    def page(self):
        rows = (
            RESULT.format(title=html.escape(title), href=html.escape(href), body=html.escape(body))
            for title, href, body in self.results
        )
        return f"<!doctype html><html><body><div id='links'>{''.join(rows)}</div></body></html>"
