"""The process that is recorded: `python -P recorded_process.py FILE CODE ARGUMENT…` runs CODE.

ARGUMENT… are its sys.argv[1:].

With a FILE, an audit hook is set before anything else is imported, and writes one JSON object per line into it:

    {"event": "socket.connect", "family": "AF_INET", "host": "127.0.0.1", "port": 11434}
    {"event": "subprocess.Popen", "program": "python child.py"}
    {"event": "end", "loaded": ["torch"]}

An empty FILE sets none. Nothing else is different from `python -c CODE`, and the environment is the caller's. This file
imports nothing of local_rag: it is started by its path.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

NATIVE = frozenset(
    """curl_cffi ddgs grpc hf_xet onnxruntime primp pyarrow pycurl torch uvloop zmq""".split(),
)
"""Libraries that can open connections in compiled code, which raises no audit event."""

TO_ADDRESS = {"socket.connect", "socket.sendto", "socket.sendmsg"}
FOR_NAME = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}
STARTED = {"subprocess.Popen": 0, "os.posix_spawn": 0, "os.exec": 0, "os.system": 0, "os.spawn": 1, "os.startfile": 0}
"""Events of a program that is started, and which of their arguments is its path."""


def main(record: str, code: str, *arguments: str) -> None:
    """Run the code, say what was loaded, and end as `local-rag` does."""
    note: Callable[..., None] | None = None
    if record:
        seen = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)

        def note(**about: object) -> None:
            os.write(seen, f"{json.dumps(about, default=str)}\n".encode("ascii", "backslashreplace"))

        _watch(note)
    exit_code = _run(code, arguments)
    if note:
        note(event="end", loaded=sorted(NATIVE.intersection(sys.modules)))
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(exit_code)


def _run(code: str, arguments: tuple[str, ...]) -> int:
    sys.argv = ["-c", *arguments]
    try:
        exec(compile(code, "<recorded>", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        if isinstance(end.code, int) or end.code is None:
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _watch(note: Callable[..., None]) -> None:
    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in TO_ADDRESS:
            family, address = getattr(arguments[0].family, "name", str(arguments[0].family)), arguments[1]
            if address is not None and family not in ("AF_UNIX", "AF_NETLINK"):
                note(event=event, family=family, **_where(address))
        elif event in FOR_NAME:
            note(event=event, host=_text(arguments[0][0] if event == "socket.getnameinfo" else arguments[0]))
        elif event in STARTED:
            note(event=event, program=_program(event, arguments))

    sys.addaudithook(hook)


def _where(address: Any) -> dict[str, Any]:
    if isinstance(address, tuple) and len(address) > 1 and isinstance(address[0], str | bytes):
        return {"host": _text(address[0]), "port": address[1]}
    return {"host": repr(address), "port": None}


def _program(event: str, arguments: tuple[Any, ...]) -> str:
    """The name of a program, with that of its script; for a command of a shell, its first word."""
    path, rest = arguments[STARTED[event]], arguments[STARTED[event] + 1 :]
    words = rest[0] if rest and isinstance(rest[0], list | tuple) else ()
    first = _text(path if path is not None else words[0] if words else "").strip()
    first = first.split()[0] if event == "os.system" and first else first
    scripts = [Path(word).name for word in map(_text, words[1:]) if word.endswith(".py")]
    return " ".join([Path(first).name, *scripts[:1]])


def _text(value: Any) -> str:
    return os.fsdecode(value) if isinstance(value, str | bytes | os.PathLike) else "" if value is None else str(value)


if __name__ == "__main__":
    main(*sys.argv[1:])
