"""A fetched page -> title, date and readable text.

HTML is read in a process of its own, `python -m local_rag.web.extraction`, with limits on time and memory: 100,000
attributes in one tag, or quotes in a script, keep lxml and trafilatura busy for minutes, and neither can be interrupted
on a thread. The process gets one request, {"kind": …, "charset": …, "seconds": …} on a line and then the body, and
replies {"title": …, "date": …, "text": …} or {"refused": reason}. Nothing on a page is run, and nothing it names is
fetched.
"""

from __future__ import annotations

import codecs
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import local_rag
from local_rag.core import cancel
from local_rag.text.display import printable, shorten
from local_rag.text.words import words
from local_rag.web.fetch import FetchRefused

if TYPE_CHECKING:
    from local_rag.web.fetch import Fetched

SECONDS = 10.0
"""For one page. A megabyte of HTML in 20,000 elements takes under 3 s on two busy cores."""

MEMORY = 1 << 30
"""Bytes of address space that reading may need; only Linux enforces it."""

MAIN_SHARE = 0.5
"""Share of a page's own words (visible, in no link, navigation or footer) below which the main text that trafilatura
found is not trusted, and all visible text is taken. The same as for HTML files, where it was measured."""

_POLL = 0.05
_TITLE = 300
_SAMPLE = 1 << 16
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_MAGIC = (b"%PDF-", b"PK\x03\x04", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"\x7fELF", b"\x1f\x8b")
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_META = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_ENCODINGS = re.compile(
    r"utf-?8|utf-16(?:-[lb]e)?|cp125\d|cp(?:866|874|932|949|950)|iso8859-\d+|iso2022_(?:jp|kr)|koi8-[ru]|ascii|tis-620"
    r"|shift_jis|euc_(?:jp|kr)|gb2312|gbk|gb18030|big5(?:hkscs)?|mac-(?:roman|cyrillic)"
)
"""Python's names of the encodings that browsers know. It has others, some of which take quadratic time."""
_SUPERSETS = {"iso8859-1": "cp1252", "ascii": "cp1252", "shift_jis": "cp932", "euc_kr": "cp949", "gb2312": "gb18030"}
"""What browsers read instead (https://encoding.spec.whatwg.org/#names-and-labels): the same and more."""
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_HTML = ("text/html", "application/xhtml+xml")
_UNSEEN = "script style noscript title template select option button textarea svg".split()
_AROUND = "a nav footer aside".split()
_INLINE = frozenset("a abbr b bdi bdo cite code em i kbd mark q s small span strong sub sup time u var".split())


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says. `url` is where it was found in the end, `date` its day as YYYY-MM-DD or empty."""

    url: str
    title: str
    date: str
    text: str


def page(fetched: Fetched, seconds: float = SECONDS) -> Page:
    """The readable text of a page. Raises FetchRefused with the reason, or Stopped."""
    request = {"kind": fetched.content_type, "charset": fetched.charset, "seconds": seconds}
    reply = _ask(json.dumps(request).encode() + b"\n" + fetched.body, seconds)
    if "refused" in reply:
        raise FetchRefused(reply["refused"])
    title = reply["title"] or shorten(fetched.final_url.partition("://")[2], 80)
    return Page(fetched.final_url, title, reply["date"], reply["text"])


def _ask(request: bytes, seconds: float) -> dict[str, Any]:
    """The reply of a reading process, which ends with this call whatever happens."""
    process = subprocess.Popen(
        # -P: the current folder is the user's, and a json.py in it would be imported
        [sys.executable, "-P", "-m", "local_rag.web.extraction"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(_import_path())},
    )
    until = time.monotonic() + seconds
    with process:
        try:
            out = _wait(process, request, until)
        finally:
            process.kill()
    if out is None:
        raise FetchRefused(f"took longer than {seconds:g} s to read")
    if process.returncode or not out:
        raise FetchRefused("cannot be read: the process that read it crashed")
    reply: dict[str, Any] = json.loads(out)
    return reply


def _wait(process: subprocess.Popen[bytes], request: bytes, until: float) -> bytes | None:
    """What the process wrote, or None if it is late."""
    unsent: bytes | None = request
    while time.monotonic() < until:
        cancel.check()
        try:
            return process.communicate(unsent, timeout=_POLL)[0]
        except subprocess.TimeoutExpired:
            unsent = None  # communicate remembers it
    return None


def _import_path() -> list[str]:
    """The import path of this process, so that the other finds the same packages."""
    package = str(Path(local_rag.__file__).parents[1])
    entries = [entry for entry in sys.path if entry]
    return entries if package in entries else [*entries, package]


def main() -> None:
    """Read one page: the whole life of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends this process
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no reply
    logging.disable()
    request = json.loads(sys.stdin.buffer.readline())
    _limit(request["seconds"])
    reply = read(sys.stdin.buffer.read(), request["kind"], request["charset"])
    with replies:
        replies.write(json.dumps(reply).encode())


def _limit(seconds: float) -> None:
    """Memory, and time for the case that the parent is gone."""
    if sys.platform == "win32":
        return
    import resource

    signal.alarm(int(2 * seconds) + 1)
    statm = Path("/proc/self/statm")
    used = int(statm.read_text().split()[0]) * resource.getpagesize() if statm.exists() else 0
    for limit, most in ((resource.RLIMIT_AS, used + MEMORY), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(limit)[1]
        try:
            resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
        except (ValueError, OSError):  # macOS refuses a limit below what is mapped already
            continue


def read(body: bytes, kind: str, charset: str) -> dict[str, str]:
    """The `title`, `date` and `text` of a body, or why it is `refused`."""
    try:
        if _is_binary(body):
            return {"refused": f"says that it is {kind}, and is not text"}
        source = printable(decode(body, charset))
        found = _html(source) if kind in _HTML else {"title": "", "date": "", "text": source}
    except MemoryError:
        return {"refused": f"needs more than {MEMORY >> 20} MB of memory to read"}
    except Exception as error:  # any parser, any input
        return {"refused": f"cannot be read ({type(error).__name__})"}
    text = printable(found["text"]).strip()
    if not text:
        return {"refused": "no readable text"}
    return {"title": shorten(printable(found["title"]), _TITLE), "date": found["date"], "text": text}


def _is_binary(body: bytes) -> bool:
    if body.startswith(_MAGIC):
        return True
    if body.startswith(tuple(mark for mark, _ in _MARKS)):
        return False
    sample = body[:_SAMPLE]
    control = len(sample) - len(sample.translate(None, _CONTROL))
    return control > max(8, 0.01 * len(sample)) and not _wide(sample)


def _wide(sample: bytes) -> str:
    """UTF-16 without a mark: in a tag, every other byte is zero."""
    small = sample.lower()
    beginnings = ("<html", "<!doctype")
    return next(
        (name for name in ("utf-16-le", "utf-16-be") if any(tag.encode(name) in small for tag in beginnings)), ""
    )


def decode(body: bytes, charset: str) -> str:
    """Bytes to text: the byte order mark, UTF-8 if it is that, the header's `charset`, the page's own, a guess.

    UTF-8 comes before what is declared, because nothing else happens to be valid UTF-8, and declarations are wrong.
    """
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body.decode(encoding, "replace")
    if wide := _wide(body[:_SAMPLE]):
        return body.decode(wide, "replace")
    own = _META.search(body[:2048])
    inside = _known(own.group(1).decode("ascii", "replace")) if own else ""
    labels = (_known(charset), "" if inside.startswith("utf-16") else inside)  # it could not be read if it were
    named = [name for name in labels if name not in ("", "utf-8")]
    if named and named[0].startswith("iso2022"):  # written in ASCII, and so valid UTF-8
        return body.decode(named[0], "replace")
    for encoding in ("utf-8", *named):
        try:
            return body.decode(encoding)
        except UnicodeError:
            continue
    return body.decode(_guess(body, named), "replace")


def _known(label: str) -> str:
    """Python's name for an encoding of the web, or empty."""
    try:
        name = codecs.lookup(label.strip()).name
    except (LookupError, ValueError):
        return ""
    return _SUPERSETS.get(name, name) if _ENCODINGS.fullmatch(name) else ""


def _guess(body: bytes, named: list[str]) -> str:
    """UTF-8 with damaged places, or what was declared, or charset-normalizer's guess."""
    text = body[:_SAMPLE].decode("utf-8", "replace")
    sequences = sum(1 for _ in re.finditer(rb"[\xc2-\xf4][\x80-\xbf]+", body[:_SAMPLE]))
    if sequences > 10 * text.count("\ufffd"):
        return "utf-8"
    if named:
        return named[0]
    from charset_normalizer import from_bytes

    best = from_bytes(body[:_SAMPLE]).best()
    return _known(best.encoding) or "cp1252" if best else "cp1252"


def _html(source: str) -> dict[str, str]:
    """Trafilatura's main text, or all visible text where that is too little of the page."""
    from lxml import etree
    from trafilatura import bare_extraction

    parser = etree.HTMLParser(no_network=True, remove_comments=True, remove_pis=True)
    source = _DECLARATION.sub("", source)
    tree = etree.fromstring(source, parser) if source.strip() else None
    if tree is None:
        return {"title": "", "date": "", "text": ""}
    found: Any = bare_extraction(
        source,
        include_comments=False,
        with_metadata=True,
        # without the extensive search, which dates a page by any number in it
        date_extraction_params={"extensive_search": False, "original_date": True, "max_date": date.today().isoformat()},
    )
    title = tree.findtext(".//title") or ""
    text = (found.text if found else "") or ""
    etree.strip_elements(tree, *_UNSEEN, with_tail=False)
    visible = _text(tree)
    etree.strip_elements(tree, *_AROUND, with_tail=False)
    if len(words(text)) < MAIN_SHARE * len(words(_text(tree))):
        text = visible
    return {"title": (found and found.title) or title, "date": (found and found.date) or "", "text": text}


def _text(tree: Any) -> str:
    """The text of a tree, a line per block, without empty lines."""
    from lxml import etree

    parts: list[str] = []
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        parts += ["" if element.tag in _INLINE else "\n", (element.text if event == "start" else element.tail) or ""]
    return "\n".join(filter(None, (" ".join(line.split()) for line in "".join(parts).split("\n"))))


if __name__ == "__main__":
    main()
