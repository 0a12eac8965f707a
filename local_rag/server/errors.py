"""Answer errors in one form, {"error": {"code", "message", "hint"}}, each with its HTTP status.

`action` names what the page offers for an error (see `ACTIONS`), or says that its hint is for a `terminal`.

Below /v1 errors have the form of OpenAI's (https://github.com/openai/openai-openapi, ErrorResponse): "message" with the
hint in it, "type", "param", "code".

usage 400 · unauthorized 401 · forbidden 403 · not_found 404 · method 405 · too_late 408 · conflict 409 ·
too_large 413 · media_type 415 · busy 429 · internal 500, and one code for each class of `core.errors` (`STATUS`).
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Mapping

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from local_rag.core import errors
from local_rag.core.documents import CONDITIONS
from local_rag.core.errors import LocalRagError, mistake_of
from local_rag.index.filters import NothingLeft
from local_rag.text.display import for_terminal, shorten

LOG = logging.getLogger("local_rag.server")

STATUS: dict[type[LocalRagError], tuple[str, int]] = {
    errors.DeadlineExceeded: ("out_of_time", 504),
    errors.Stopped: ("stopped", 409),
    errors.ServerDown: ("model_server_down", 503),
    errors.EngineError: ("engine", 502),
    errors.NotLocal: ("not_local", 403),
    errors.FileSkipped: ("file_skipped", 422),
    errors.ModelMissing: ("model_missing", 503),
    errors.ModelChanged: ("model_changed", 503),
    errors.DiskFull: ("disk_full", 507),
    errors.IndexDamaged: ("index_damaged", 500),
    errors.IndexBusy: ("index_busy", 409),
    errors.IndexMismatch: ("index_mismatch", 409),
    errors.IndexMissing: ("index_missing", 404),
    errors.ConfigError: ("config", 500),
    errors.NotFound: ("not_found", 404),
    errors.UsageError: ("usage", 400),
    LocalRagError: ("error", 500),
}
"""Code and status of each error, the narrower class first."""

TERMINAL = "terminal"
ACTIONS = {"index_missing": "folder", "model_missing": "models", "model_server_down": "models"}
"""The action of the page for each code: choose a `folder`, look for changes (`sync`), or see which `models` fit.

Any other error of `core.errors` has `TERMINAL`: its hint is a command, or speaks of options.
"""

FIELDS = {condition.option: name for name, condition in CONDITIONS.items()} | {"--model": "model"}
"""The field of a request for each option of the command line."""

_OPTION = re.compile(rf"(?<!\S)({'|'.join(FIELDS)})\b")

WIDER = f"widen or empty one of: {', '.join(f'{each.label} ({name})' for name, each in CONDITIONS.items())}"
"""The hint for conditions that leave no document: it names fields, as a request has no options."""


class ApiError(LocalRagError):
    """Report an error with its own code and status, and if given headers and the wrong parameter.

    `thread` names the thread that keeps a refused question with the reason.
    """

    thread = ""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        hint: str = "",
        headers: Mapping[str, str] | None = None,
        param: str | None = None,
        action: str = "",
    ) -> None:
        super().__init__(message, hint)
        self.status, self.code, self.headers, self.param = status, code, headers, param
        self.action = action or ACTIONS.get(code, "")


def api_error(error: Exception) -> ApiError:
    """Return an error with its code and status; an error from outside local-rag gets a message without details."""
    if isinstance(error, ApiError):
        return error
    for kind, (code, status) in STATUS.items():
        if isinstance(error, kind):
            message, hint, action = in_fields(str(error)), in_fields(error.hint), ACTIONS.get(code, TERMINAL)
            if isinstance(error, NothingLeft):
                hint, action = WIDER, ""
            return ApiError(status, code, message, hint, action=action)
    return ApiError(500, "internal", "the server met an error that it does not know; its terminal says where")


def error_object(error: Exception) -> dict[str, str]:
    """Return {"code", "message", "hint"} of an error, with its action and thread if it has them."""
    said = api_error(error)
    more = {"thread": said.thread, "action": said.action}
    about = {"code": said.code, "message": for_terminal(str(said)), "hint": for_terminal(said.hint)}
    return about | {name: value for name, value in more.items() if value}


def in_fields(text: str) -> str:
    """Replace the options of the command line in a text with the fields of requests."""
    return _OPTION.sub(lambda option: FIELDS[option[1]], text)


def log_unknown(error: Exception, what: str) -> None:
    """Log the class and place of an error from outside local-rag, but not its text, which may quote a question."""
    if not isinstance(error, LocalRagError):
        place = traceback.extract_tb(error.__traceback__)[-1:]
        where = f"{place[0].filename}:{place[0].lineno}" if place else "unknown"
        LOG.error("%s: %s at %s", what, type(error).__name__, where)


def error_response(error: Exception, what: str, path: str) -> JSONResponse:
    """Return the response for an error at a path, and log an error from outside local-rag; `what` names what failed."""
    log_unknown(error, what)
    said = api_error(error)
    headers = dict(said.headers or {})
    if not path.startswith("/v1/"):
        return JSONResponse({"error": error_object(said)}, said.status, headers)
    if said.status != 429:
        headers["x-should-retry"] = "false"  # OpenAI's clients would ask what failed twice more
    return JSONResponse({"error": openai_error(said)}, said.status, headers)


def openai_error(error: Exception) -> dict[str, str | None]:
    """Return an error in OpenAI's form, with the hint in its message, as clients show only that."""
    said, ours = api_error(error), error_object(error)
    message = "; ".join(filter(None, (ours["message"], ours["hint"])))
    kind = "invalid_request_error" if said.status < 500 else "server_error"
    return {"message": message, "type": kind, "param": said.param, "code": said.code}


async def answer_error(request: Request, error: Exception) -> JSONResponse:
    """Answer an error that an endpoint raised, or FastAPI before it."""
    if isinstance(error, RequestValidationError):
        error = _invalid(error)
    elif isinstance(error, HTTPException):
        code, message = _OF_STATUS.get(error.status_code, ("usage", str(error.detail)))
        error = ApiError(error.status_code, code, message, "docs/serve.md lists what there is", error.headers)
    path = request.scope["path"]
    return error_response(error, f"{request.method} {path}", path)


_OF_STATUS = {404: ("not_found", "there is nothing at this address"), 405: ("method", "this path takes another method")}


def _invalid(error: RequestValidationError) -> ApiError:
    """Return an error that says in one line what a request should hold, and what it holds."""
    first = error.errors()[0]
    name = ".".join(map(str, first["loc"][1:])) or "the request"
    if first["type"] == "json_invalid":
        return ApiError(400, "usage", "the body is not JSON")
    if first["type"] == "extra_forbidden":
        return ApiError(400, "usage", f"there is no parameter {name!r} here", "docs/serve.md lists them", param=name)
    came = "" if first["type"] == "missing" else f", and it is {shorten(repr(first['input']), 80)}"
    what = f"{name}: {mistake_of(first)}{came}"
    return ApiError(400, "usage", what, "docs/serve.md lists the parameters", param=name)
