"""Mails: one message (.eml, .msg) or many (.mbox), each with its attachments."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import EmailPolicy
from email.utils import format_datetime, parsedate_to_datetime
from functools import partial
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, cast

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.html_text import html_text_of
from local_rag.index.parse.parsed_file import Inside, Piece, clean, document, joined, one_line
from local_rag.index.parse.properties import LONG_AUTHOR, iso_date, iso_time, stated
from local_rag.text.encoding import declared_charset, decode, known_encoding

LONGEST_MESSAGE = 100_000_000
"""Bytes of a message of a mailbox that are read."""

_SHOWN = ("Subject", "From", "To", "Cc", "Date")
_ENVELOPE = re.compile(rb"From .*\d\d:\d\d(:\d\d)?( [+-]\d{4}| [A-Z]{2,5})* \d{4}( [+-]\d{4})?\s*$")
_NO_DATE = re.compile(rb"From \S+\s*$")
_HEADER = re.compile(rb"[!-9;-~]+:")
"""The beginning of a header, by which an envelope without a date is told from a line of a text: that may begin with
"From " as well (RFC 4155).
"""

_ESCAPED = re.compile(rb">+From ")
_ENCODED = re.compile(r"=\?([^?*\s]{1,40})\?")
_QUOTE = re.compile(r"<(/?)blockquote\b[^<>]*>", re.IGNORECASE)
_DEEPEST_QUOTE = 20
"""Levels of quotes in quotes that are distinguished in a page."""

_MARK = re.compile(r"(?:> ?)+")
_FORWARDED = re.compile(
    r"^\*?(?:From|Von|De|Da|Van|Från)\*?: *(?P<name>\S.*)\n(?:.*\n){1,4}?\*?"
    r"(?:Subject|Betreff|Objet|Asunto|Oggetto|Onderwerp|Ämne)\*?:",
    re.MULTILINE,
)
"""The header that mail programs write above what they quote or forward."""

_WROTE = re.compile(
    r"(?:[AP]M |schrieb |skrev |schreef )?([^\W\d][^<>,:;\"\d]{0,80}?)\"? ?<[^<>\s]*@"
    r"|(?:schrieb|skrev|schreef) ([^:]{2,60}?) ?:"
    r"|([^\W\d][^,:\d]{1,60}?) (?:wrote|writes|said|a écrit|escribió|ha scritto|escreveu)\b"
)
"""The name of who wrote what is quoted below: "On 3 March 2026 Kit Marlow wrote:" in some languages."""

_LONG_HEADER = 2000
"""Characters of a header that are looked at: the standard library takes quadratic time for a long one."""


class _Policy(EmailPolicy):
    """The default policy, which parses a header when it is asked for; one that it cannot parse is the text that it is.

    The parser of the standard library raises many errors on malformed headers (bpo-30681).
    """

    charset = ""
    """The character set of headers that name none: that of the text of the message."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        value = _ENCODED.sub(_known, value[:_LONG_HEADER])
        if not value.isascii():
            with suppress(FileSkipped):
                value = decode(value.encode("utf-8", "surrogateescape"), self.charset, "cp1252")
        try:
            return super().header_fetch_parse(name, value)
        except Exception:
            return value


def _known(word: re.Match[str]) -> str:
    """Return the beginning of an encoded word (RFC 2047), with the name that Python has for its character set."""
    return f"=?{known_encoding(word[1]) or word[1]}?"


def message_of(data: bytes) -> EmailMessage:
    """Return a message as the standard library reads it. Raises FileSkipped for an empty file."""
    if not data.strip():
        raise FileSkipped("is empty")
    policy: Any = _Policy()
    message: EmailMessage = BytesParser(EmailMessage, policy=policy).parsebytes(data.lstrip())
    charsets = (part.get_content_charset() for part, kind, _, _ in _leaves(message) if kind.startswith("text/"))
    message.policy = policy.clone(charset=next(filter(None, charsets), ""))
    return message


def load_eml(path: Path) -> Iterator[Piece]:
    """Read a message and its attachments. Raises FileSkipped for a file without any header of a mail."""
    message = message_of(path.read_bytes())
    if not message.keys():
        raise FileSkipped("is damaged (no header of a mail in it)")
    yield from _pieces(message)


def load_mbox(path: Path) -> Iterator[Piece]:
    """Read the messages of a mailbox one by one, each with its attachments; none is in memory when the next is read.

    Raises FileSkipped where no line begins with "From ".
    """
    data = None
    for data in _messages(path):
        if data.strip():
            yield from _pieces(message_of(data))
    if data is None:
        raise FileSkipped("holds no message (no line begins with 'From ')")


def _messages(path: Path) -> Iterator[bytes]:
    message: bytearray | None = None
    with path.open("rb") as file:
        while line := file.readline(1 << 20):
            begins = _ENVELOPE.match(line) or (_NO_DATE.match(line) and _HEADER.match(file.peek(99)))
            if begins or (message is None and line.startswith(b"From ")):
                if message is not None:
                    yield bytes(message)
                message = bytearray()
            elif message is not None and len(message) < LONGEST_MESSAGE:
                message += line[1:] if _ESCAPED.match(line) else line
    if message is not None:
        yield bytes(message)


def load_msg(path: Path) -> Iterator[Piece]:
    """Read a mail of Outlook and its attachments; mails that are attached as such are named, not read."""
    from oxmsg import Message

    source = Message.load(str(path))
    headers, sent = source.message_headers, source.sent_date
    shown = {
        "Subject": source.subject,
        "From": source.sender,
        "To": headers.get("To") or ", ".join(f"{to.name} <{to.email_address}>" for to in source.recipients),
        "Cc": headers.get("Cc"),
        "Date": headers.get("Date") or (format_datetime(sent) if sent else None),
    }
    yield _document(shown, _fuller(clean(source.body or ""), clean(source.html_body or "")))
    for attachment in source.attachments:
        yield Inside(attachment.file_name or "attachment", partial(BytesIO, attachment.file_bytes or b""))


def _pieces(message: EmailMessage) -> Iterator[Piece]:
    """Yield a message and what is attached to it; of a mail that was forwarded as a whole, that mail."""
    said, inside = dict[int, dict[str, list[str]]](), list[Inside]()
    for place, (part, kind, name, choice) in enumerate(_leaves(message)):
        if kind in ("text/plain", "text/html") and name is None:
            texts = said.setdefault(choice or -place, {"text/plain": [], "text/html": []})
            texts[kind].append(_text(part))
            continue
        suffix = mimetypes.guess_extension(kind) or ""
        if kind == "message/rfc822" and part.is_multipart():
            name = name or f"{cast(EmailMessage, part.get_payload(0)).get('Subject', '')}.eml"
        elif name == "" or (name is None and suffix and not kind.startswith(("image/", "message/"))):
            name = f"attachment{suffix}"
        if name is not None:
            inside.append(Inside(name, partial(_opened, part)))
    bodies = (_fuller(*("\n\n".join(filter(None, texts)) for texts in each.values())) for each in said.values())
    yield _document(message, "\n\n".join(filter(None, bodies)))
    yield from inside


def _leaves(message: EmailMessage) -> Iterator[tuple[EmailMessage, str, str | None, int]]:
    """Yield the parts that have no parts, or are messages themselves, with type, name and a number.

    The name is None for a part that is not attached. The number is the same for parts of which a reader shows one, else
    0.
    """
    waiting = [(message, 0)]
    while waiting:
        (part, choice), kind, name = waiting.pop(), "", None
        with suppress(AttributeError, KeyError, ValueError, IndexError):  # no Content-Type, or no name of a file
            kind = part.get_content_type()
            name = part.get_filename() or ("" if part.get_content_disposition() == "attachment" else None)
        if part.is_multipart() and not kind.startswith("message/"):
            choice = choice or (id(part) if kind == "multipart/alternative" else 0)
            waiting += [(each, choice) for each in reversed(cast(list[EmailMessage], part.get_payload()))]
        else:
            yield part, kind, name, choice


def _opened(part: EmailMessage) -> IO[bytes]:
    """Return what is attached, as the file that it was."""
    if part.is_multipart():
        return BytesIO(cast(EmailMessage, part.get_payload(0)).as_bytes())
    return BytesIO(cast(bytes, part.get_payload(decode=True)))


def _text(part: EmailMessage) -> str:
    payload = part.get_payload(decode=True)
    with suppress(FileSkipped):
        data = payload if isinstance(payload, bytes) else b""
        return clean(decode(data, part.get_content_charset() or declared_charset(data)))
    return ""


def _fuller(plain: str, page: str) -> str:
    """Return the text of a mail that comes in two forms: the plain one, unless it lacks most of what the page says."""
    shown = _with_marks(html_text_of(_QUOTE.sub("<p>\\1\ue000</p>", page))[0]) if page.strip() else ""
    said, more = (set(re.findall(r"\w+", text.lower())) for text in (plain, shown))
    if 2 * len(more & said) >= len(more):
        return plain
    return shown if 2 * len(more & said) >= len(said) else f"{shown}\n\n{plain}"


def _with_marks(text: str) -> str:
    """Return the text of a page, its quotes marked as in plain mails."""
    lines, depth = list[str](), 0
    for line in text.split("\n"):
        if line.endswith("\ue000"):
            depth += -1 if line.startswith("/") else 1
        else:
            lines.append("> " * min(depth, _DEEPEST_QUOTE) + line)
    return "\n".join(lines)


def _voices(body: str, sender: str, subject: str) -> Iterator[tuple[int, str, str]]:
    """Yield what each person says in a mail, as `joined` takes it.

    What is quoted, by ">" or below a header, is a statement of the person quoted. The first block of the sender has no
    heading.
    """
    starts = [0, *(match.start() for match in _FORWARDED.finditer(body))]
    for start, end in pairwise([*starts, len(body)]):
        forwarded = _FORWARDED.match(body, start)
        names = {0: _quoted(forwarded["name"], subject) if forwarded else sender * bool(start)}
        depth, lines = 0, list[str]()
        for line in body[start:end].split("\n"):
            mark = _MARK.match(line)
            deeper = mark[0].count(">") if mark else 0
            if deeper != depth and line.strip():
                yield 1, names.get(depth, ""), "\n".join(lines)
                if deeper > depth:
                    told = " ".join(" ".join(lines).split()[-30:])
                    wrote = _WROTE.search(told) if told.endswith(":") else None
                    names[deeper] = _quoted(next(filter(None, wrote.groups()), "") if wrote else "", subject)
                names[0] = names[0] or sender
                depth, lines = deeper, []
            lines.append(line[mark.end() :] if mark else line)
        yield 1, names.get(depth, ""), "\n".join(lines)


def _quoted(name: str, subject: str) -> str:
    name = re.sub(r"[*\"']|<.*|\[mailto.*", "", name).strip()
    return f"{name}, quoted in {subject}" if name else f"quoted in {subject}"


def _document(headers: EmailMessage | Mapping[str, Any], body: str) -> LoadedDocument:
    """Return a mail with its headers above its text; its author is the sender with the address, its title the
    subject.
    """
    named = {name: header(headers, name) for name in (*_SHOWN, "Sender", "Keywords")}
    named |= {name: named[name].replace('"', "") for name in ("From", "To", "Cc")}
    try:
        sent = iso_time(parsedate_to_datetime(named["Date"]))
    except (ValueError, TypeError, IndexError, OverflowError):
        sent = iso_date(named["Date"])
    head = "\n".join(f"{name}: {named[name]}" for name in _SHOWN if named[name])
    properties = stated(subjects=[named["Keywords"]])
    properties = replace(properties, author=one_line(named["From"] or named["Sender"], LONG_AUTHOR), date=sent)
    voices = _voices(body, named["From"], named["Subject"] or "this mail")
    text, headings = joined([(0, "", head), *voices])
    return document(text, named["Subject"], headings=[each for each in headings if each.text], properties=properties)


def header(headers: EmailMessage | Mapping[str, Any], name: str) -> str:
    """Return one header on one line, "" where there is none."""
    return " ".join(clean(str(headers.get(name) or "")).split())


def html_source(message: EmailMessage) -> str:
    """Return the first HTML among the parts of a message, "" where there is none."""
    pages = (_text(part) for part, kind, name, _ in _leaves(message) if kind == "text/html" and name is None)
    return next(filter(None, pages), "")
