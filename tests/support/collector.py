"""A collector of OpenTelemetry on loopback: an HTTP server that keeps what it is sent, and answers as it is told."""

from __future__ import annotations

import http.server
import threading
from contextlib import contextmanager


class Collected:
    """The requests as (path, headers, body); `status` and `headers` are those of every answer."""

    def __init__(self):
        self.requests, self.status, self.headers = [], 200, {}
        self.url = ""

    def spans(self):
        """(span, attributes) of everything that came, by the protocol's own decoder."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        for _, _, body in self.requests:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        yield span, {one.key: _value(one.value) for one in span.attributes}


def _value(value):
    return getattr(value, value.WhichOneof("value"))


@contextmanager
def collector(path="/v1/traces"):
    collected = Collected()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            collected.requests.append((self.path, headers, body))
            self.send_response(collected.status)
            for name, value in collected.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        collected.url = f"http://127.0.0.1:{server.server_port}{path}"
        yield collected
        server.shutdown()
        thread.join()
