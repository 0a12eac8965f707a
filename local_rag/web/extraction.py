"""A fetched page -> title, date, author and readable text.

HTML is read in a process of its own, `python -m local_rag.web.extraction`, with limits on time and memory: 100,000
attributes in one tag, or quotes in a script, keep lxml and trafilatura busy for minutes, and neither can be interrupted
on a thread. The process gets one request, {"kind": …, "charset": …, "seconds": …} on a line and then the body, and
replies {"title": …, "date": …, "author": …, "text": …} or {"refused": reason}. Nothing on a page is run, and nothing
that it names is fetched.
"""

from __future__ import annotations

import json
import logging
import re
import signal
import sys
from datetime import date
from typing import TYPE_CHECKING, Any

from local_rag.core import child_process
from local_rag.core.documents import WebPage
from local_rag.core.errors import FileSkipped
from local_rag.text.display import printable, shorten
from local_rag.text.encoding import declared_charset, decode
from local_rag.text.words import words
from local_rag.web.body import FetchRefused

if TYPE_CHECKING:
    from local_rag.web.fetch import FetchedPage

SECONDS = 10.0
"""For one page. A megabyte of HTML in 20,000 elements takes under 3 s on two busy cores."""

MEMORY = 1 << 30
"""Bytes of address space that reading may need; only Linux enforces it."""

MAIN_SHARE = 0.5
"""Share of a page's own words (visible, in no link, navigation or footer) below which trafilatura's main text is not
trusted, and all visible text is taken. The same as for HTML files, where it was measured."""

_TITLE = 300
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_HTML = ("text/html", "application/xhtml+xml")
_UNSEEN = "script style noscript title template select option button textarea svg".split()
_AROUND = "a nav footer aside".split()
_INLINE = frozenset("a abbr b bdi bdo cite code em i kbd mark q s small span strong sub sup time u var".split())


def extract(fetched: FetchedPage, seconds: float = SECONDS) -> WebPage:
    """The readable text of a page. Raises FetchRefused with the reason, or Stopped."""
    request = {"kind": fetched.content_type, "charset": fetched.charset, "seconds": seconds}
    finished = child_process.run(
        child_process.command("local_rag.web.extraction"),
        json.dumps(request).encode() + b"\n" + fetched.body,
        seconds,
        child_process.environment(),
    )
    if finished.code is None:
        raise FetchRefused(f"took longer than {seconds:g} s to read")
    if finished.code or not finished.output:
        raise FetchRefused("cannot be read: the process that read it crashed")
    reply: dict[str, str] = json.loads(finished.output)
    if "refused" in reply:
        raise FetchRefused(reply["refused"])
    title = reply["title"] or shorten(fetched.final_url.partition("://")[2], 80)
    return WebPage(fetched.final_url, title, reply["text"], reply["date"], reply["author"])


def main() -> None:
    """Read one page: the whole life of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends this process
    replies = child_process.reply_stream()
    logging.disable()
    request = json.loads(sys.stdin.buffer.readline())
    child_process.end_after(request["seconds"])
    child_process.limit_memory(MEMORY)
    reply = read(sys.stdin.buffer.read(), request["kind"], request["charset"])
    with replies:
        replies.write(json.dumps(reply).encode())


def read(body: bytes, kind: str, charset: str) -> dict[str, str]:
    """The `title`, `date`, `author` and `text` of a body, or why it is `refused`."""
    try:
        source = printable(decode(body, charset, declared_charset(body))) if body.strip() else ""
        page = _html(source) if kind in _HTML else {"title": "", "date": "", "author": "", "text": source}
    except FileSkipped:
        return {"refused": f"says that it is {kind}, and is not text"}
    except MemoryError:
        return {"refused": f"needs more than {MEMORY >> 20} MB of memory to read"}
    except Exception as error:  # any parser, any input
        return {"refused": f"cannot be read ({type(error).__name__})"}
    text = printable(page["text"]).strip()
    if not text:
        return {"refused": "no readable text"}
    title, author = (shorten(printable(page[name]), _TITLE) for name in ("title", "author"))
    return {"title": title, "date": page["date"], "author": author, "text": text}


def _html(source: str) -> dict[str, str]:
    """Trafilatura's main text, or all visible text where that is too little of the page."""
    from lxml import etree
    from trafilatura import bare_extraction

    parser = etree.HTMLParser(no_network=True, remove_comments=True, remove_pis=True)
    source = _DECLARATION.sub("", source)
    tree = etree.fromstring(source, parser) if source.strip() else None
    if tree is None:
        return {"title": "", "date": "", "author": "", "text": ""}
    main: Any = bare_extraction(
        source,
        include_comments=False,
        with_metadata=True,
        # without the extensive search, which dates a page by any number in it
        date_extraction_params={"extensive_search": False, "original_date": True, "max_date": date.today().isoformat()},
    )
    title = tree.findtext(".//title") or ""
    text = (main.text if main else "") or ""
    etree.strip_elements(tree, *_UNSEEN, with_tail=False)
    visible = _text(tree)
    etree.strip_elements(tree, *_AROUND, with_tail=False)
    if len(words(text)) < MAIN_SHARE * len(words(_text(tree))):
        text = visible
    known = {name: (main and getattr(main, name)) or "" for name in ("title", "date", "author")}
    return known | {"title": known["title"] or title, "text": text}


def _text(tree: Any) -> str:
    """The text of a tree, a line per block, without empty lines."""
    from lxml import etree

    parts: list[str] = []
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        parts += ["" if element.tag in _INLINE else "\n", (element.text if event == "start" else element.tail) or ""]
    return "\n".join(filter(None, (" ".join(line.split()) for line in "".join(parts).split("\n"))))


if __name__ == "__main__":
    main()
