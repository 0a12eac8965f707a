"""Run the process to record: `python -P recorded.py FILE CODE ARGUMENT…` runs CODE as `python -c` does.

An audit hook, set before anything else is imported, writes one JSON object per line into FILE:

    {"event": "socket.connect", "host": "127.0.0.1", "port": 11434}
    {"event": "socket.getaddrinfo", "name": "localhost"}
    {"event": "subprocess.Popen", "program": "python"}
    {"loaded": ["torch"]}

The last line is written at the end. This file is started by its path, so it imports nothing of local_rag.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

NATIVE = frozenset("curl_cffi ddgs grpc hf_xet onnxruntime primp pyarrow pycurl torch uvloop zmq".split())
"""Libraries whose compiled code can open connections without an audit event."""

TO_ADDRESS = {"socket.connect", "socket.sendto", "socket.sendmsg"}
FOR_NAME = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}
STARTED = {"subprocess.Popen": 0, "os.posix_spawn": 0, "os.exec": 0, "os.system": 0, "os.spawn": 1, "os.startfile": 0}
"""The audit events of a started program, with the position of the argument that is its path."""


def main(record: str, code: str, *arguments: str) -> None:
    """Run the code with the audit hook."""
    seen = os.open(record, os.O_WRONLY | os.O_APPEND)

    def note(**about: object) -> None:
        os.write(seen, f"{json.dumps(about, default=str)}\n".encode("ascii", "backslashreplace"))

    def hook(event: str, given: tuple[Any, ...]) -> None:
        if event in TO_ADDRESS:
            family, address = getattr(given[0].family, "name", given[0].family), given[1]
            if address is not None and family not in ("AF_UNIX", "AF_NETLINK"):
                host, port = address[:2] if isinstance(address, tuple) and len(address) > 1 else (address, None)
                note(event=event, host=_text(host), port=port)
        elif event in FOR_NAME:
            note(event=event, name=_text(given[0][0] if event == "socket.getnameinfo" else given[0]))
        elif event in STARTED:
            note(event=event, program=os.path.basename(_text(given[STARTED[event]] or given[1][0])))  # noqa: PTH119

    sys.addaudithook(hook)
    sys.argv = ["-c", *arguments]
    try:
        exec(compile(code, "<recorded>", "exec"), {"__name__": "__main__"})
    finally:
        note(loaded=sorted(NATIVE.intersection(sys.modules)))


def _text(value: Any) -> str:
    return os.fsdecode(value) if isinstance(value, str | bytes | os.PathLike) else "" if value is None else str(value)


if __name__ == "__main__":
    main(*sys.argv[1:])
