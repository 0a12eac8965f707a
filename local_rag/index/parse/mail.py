"""Mails: one message (.eml, .msg) or many (.mbox), each with its attachments."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import EmailPolicy
from email.utils import format_datetime, parsedate_to_datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any, cast

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.html_text import html_text_of
from local_rag.index.parse.parsed_file import Inside, Piece, clean, document, one_line
from local_rag.index.parse.properties import LONG_AUTHOR, iso_date, iso_time, stated
from local_rag.text.encoding import declared_charset, decode

LONGEST = 100_000_000
"""Bytes of a message of a mailbox; what lies behind them is not read."""

_SHOWN = ("Subject", "From", "To", "Cc", "Date")
_LONG_HEADER = 2000
"""Characters of a header that are looked at: the standard library takes quadratic time for a long one."""


class _Policy(EmailPolicy):
    """The default policy, which parses a header when it is asked for; one that it cannot parse is the text that it is.

    The parser of the standard library raises many errors on malformed headers (bpo-30681).
    """

    def header_fetch_parse(self, name: str, value: str) -> Any:
        try:
            return super().header_fetch_parse(name, value[:_LONG_HEADER])
        except Exception:
            return value[:_LONG_HEADER]


def message_of(data: bytes) -> EmailMessage:
    """A message as the standard library reads it. Raises FileSkipped for an empty file."""
    if not data.strip():
        raise FileSkipped("is empty")
    policy = cast("EmailPolicy[EmailMessage]", _Policy())
    return BytesParser(EmailMessage, policy=policy).parsebytes(data.lstrip())


def load_eml(path: Path) -> Iterator[Piece]:
    """A message and its attachments. Raises FileSkipped for a file without any header of a mail."""
    message = message_of(path.read_bytes())
    if not message.keys():
        raise FileSkipped("is damaged (no header of a mail in it)")
    yield from _pieces(message)


def load_mbox(path: Path) -> Iterator[Piece]:
    """The messages of a mailbox one by one, each with its attachments; none is in memory when the next is read.

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
            if line.startswith(b"From "):
                if message is not None:
                    yield bytes(message)
                message = bytearray()
            elif message is not None and len(message) < LONGEST:
                message += line
    if message is not None:
        yield bytes(message)


def load_msg(path: Path) -> Iterator[Piece]:
    """A mail of Outlook and its attachments; mails that are attached as such are named, not read."""
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
    body = clean(source.body or "")
    yield _document(shown, body if body.strip() else html_text_of(clean(source.html_body or ""))[0])
    for attachment in source.attachments:
        yield Inside(attachment.file_name or "attachment", partial(BytesIO, attachment.file_bytes or b""))


def _pieces(message: EmailMessage) -> Iterator[Piece]:
    """A message and what is attached to it; of a mail that was forwarded as a whole, that mail."""
    parts = list(_leaves(message))
    plain, page = ("\n\n".join(_texts(parts, kind)).strip() for kind in ("text/plain", "text/html"))
    yield _document(message, plain or html_text_of(page)[0])
    for part, kind, name in parts:
        if kind == "message/rfc822" and part.is_multipart():
            name = name or f"{cast(EmailMessage, part.get_payload(0)).get('Subject', '')}.eml"
        elif name == "":
            name = f"attachment{mimetypes.guess_extension(kind) or ''}"
        if name is not None:
            yield Inside(name, partial(_opened, part))


def _leaves(message: EmailMessage) -> Iterator[tuple[EmailMessage, str, str | None]]:
    """The parts that have no parts, or are messages themselves, with type and, if they are attached, name."""
    waiting = [message]
    while waiting:
        part, kind, name = waiting.pop(), "", None
        with suppress(AttributeError, KeyError, ValueError, IndexError):  # no Content-Type, or no name of a file
            kind = part.get_content_type()
            name = part.get_filename() or ("" if part.get_content_disposition() == "attachment" else None)
        if part.is_multipart() and not kind.startswith("message/"):
            waiting += reversed(cast(list[EmailMessage], part.get_payload()))
        else:
            yield part, kind, name


def _opened(part: EmailMessage) -> IO[bytes]:
    """What is attached, as the file that it was."""
    if part.is_multipart():
        return BytesIO(cast(EmailMessage, part.get_payload(0)).as_bytes())
    return BytesIO(cast(bytes, part.get_payload(decode=True)))


def _texts(parts: list[tuple[EmailMessage, str, str | None]], sought: str) -> Iterator[str]:
    """What the parts of a type say that are not attached."""
    for part, kind, name in parts:
        payload = part.get_payload(decode=True) if kind == sought and name is None else None
        if isinstance(payload, bytes) and payload.strip():
            with suppress(FileSkipped):
                yield clean(decode(payload, part.get_content_charset() or declared_charset(payload)))


def _document(headers: EmailMessage | Mapping[str, Any], body: str) -> LoadedDocument:
    """A mail with its headers above its text; its author is the sender with the address, its title the subject."""
    named = {name: header(headers, name) for name in (*_SHOWN, "Sender", "Keywords")}
    named |= {name: named[name].replace('"', "") for name in ("From", "To", "Cc")}
    try:
        sent = iso_time(parsedate_to_datetime(named["Date"]))
    except (ValueError, TypeError, IndexError, OverflowError):
        sent = iso_date(named["Date"])
    head = "\n".join(f"{name}: {named[name]}" for name in _SHOWN if named[name])
    properties = stated(subjects=[named["Keywords"]])
    properties = replace(properties, author=one_line(named["From"] or named["Sender"], LONG_AUTHOR), date=sent)
    return document(clean(f"{head}\n\n{body}").strip(), named["Subject"], properties=properties)


def header(headers: EmailMessage | Mapping[str, Any], name: str) -> str:
    """One header on one line, empty where there is none."""
    return " ".join(clean(str(headers.get(name) or "")).split())


def html_source(message: EmailMessage) -> str:
    """The first HTML among the parts of a message, nothing where there is none."""
    return next(_texts(list(_leaves(message)), "text/html"), "")
