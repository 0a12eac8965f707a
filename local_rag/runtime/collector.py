"""A collector of OpenTelemetry on this machine: where it may be, and the one way in which spans are sent to it.

The exporters of OpenTelemetry follow redirects, proxies and variables of the shell, which can lead elsewhere. What is
sent here goes to one address of the loopback interface.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from local_rag.core.address import LOOPBACK, Address
from local_rag.core.errors import LocalRagError, NotLocal, UsageError

if TYPE_CHECKING:
    import httpx

SECONDS = 5.0
"""The longest that a collector on this machine may take for one package of spans."""
HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
"""OpenTelemetry's own variable for the keys of a collector: name=value, separated by commas. It switches nothing on."""
LIBRARIES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.common")

_USUAL = "http://127.0.0.1:6006/v1/traces is where Phoenix listens"


def collector_address(url: str) -> Address:
    """Where the collector listens. Raises UsageError for what is no URL of one, NotLocal for another machine."""
    wrong = UsageError(f"trace.otlp takes the URL of a collector on this machine, not {url!r}", hint=_USUAL)
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise wrong from error
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or parts.fragment:
        raise wrong
    where = Address(parts.scheme, parts.hostname, port or {"http": 80, "https": 443}[parts.scheme])
    if not where.is_local:
        raise NotLocal(
            f"trace.otlp: {where} is not this machine, and spans quote your files, so nothing is sent there",
            hint=_USUAL,
        )
    return where


def must_have_extra() -> None:
    """Raises LocalRagError where a library of the extra is missing."""
    try:
        missing = [name for name in LIBRARIES if find_spec(name) is None]
    except ModuleNotFoundError:
        missing = list(LIBRARIES)
    if missing:
        raise LocalRagError(
            "trace.otlp needs the libraries of OpenTelemetry, which the extra 'otlp' brings",
            hint='pip install "local-rag[otlp]"',
        )


class Collector:
    """Sends spans to one collector, as an exporter of OpenTelemetry's SDK. A question never waits for it, nor fails."""

    def __init__(self, url: str) -> None:
        self._where = collector_address(url)
        must_have_extra()
        import httpx

        self._url = httpx.URL(url.strip())
        self._client = httpx.Client(trust_env=False, follow_redirects=False, timeout=SECONDS)
        self._warned = False

    def export(self, spans: Sequence[Any]) -> Any:
        """Send them once; what is not taken is lost, and said once in the log."""
        import httpx
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
        from opentelemetry.sdk.trace.export import SpanExportResult

        body = encode_spans(spans).SerializeToString()
        try:
            response = self._send(body)
        except httpx.HTTPError as error:
            return self._lost(SpanExportResult.FAILURE, str(error) or type(error).__name__)
        if not response.is_success:
            return self._lost(SpanExportResult.FAILURE, f"it answers with status {response.status_code}")
        return SpanExportResult.SUCCESS

    def _send(self, body: bytes) -> httpx.Response:
        """To loopback, whatever `localhost` may be taken for elsewhere."""
        import httpx

        hosts = LOOPBACK if self._where.host == "localhost" else (self._where.host,)
        headers = {**_headers(), "content-type": "application/x-protobuf"}
        for host in hosts[:-1]:
            try:
                return self._client.post(self._url.copy_with(host=host), content=body, headers=headers)
            except httpx.ConnectError:
                continue
        return self._client.post(self._url.copy_with(host=hosts[-1]), content=body, headers=headers)

    def _lost(self, failure: Any, why: str) -> Any:
        if not self._warned:
            self._warned = True
            logging.getLogger(__name__).warning("spans are lost: the collector at %s takes none: %s", self._where, why)
        return failure

    def shutdown(self) -> None:
        """Nothing is sent any more."""
        self._client.close()

    def force_flush(self, timeout_millis: int = 0) -> bool:
        """Nothing waits here."""
        return True


def _headers() -> dict[str, str]:
    pairs = (part.partition("=") for part in os.environ.get(HEADERS, "").split(","))
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs if name.strip()}
