"""Mails: one message (.eml, .msg) or many (.mbox), each with its attachments."""

from __future__ import annotations

import mimetypes
import struct
from collections.abc import Iterator
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
from local_rag.index.parse.parsed_file import Inside, Piece, Properties, clean, document
from local_rag.index.parse.properties import LONG_AUTHOR, iso_date, iso_time, one_line, stated
from local_rag.text.encoding import declared_charset, decode

LONGEST = 100_000_000
"""Bytes of a message of a mailbox; what lies behind them is not read."""

_SHOWN = ("From", "To", "Cc", "Date")
_LONG_HEADER = 2000
"""Characters of a header that are looked at: the standard library takes quadratic time for a long one."""

_KNOWN = set(b"from to subject date received return-path message-id mime-version delivered-to".split())
_MALFORMED = (AttributeError, KeyError, ValueError, IndexError)
"""What the standard library raises for a Content-Type or a name of a file that is none."""


class _Policy(EmailPolicy):
    """The default policy, which parses a header when it is asked for; brackets in brackets go too deep for it."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        try:
            return super().header_fetch_parse(name, value[:_LONG_HEADER])
        except RecursionError:
            return super().header_fetch_parse(name, value[:_LONG_HEADER].translate(_NO_BRACKETS))


_NO_BRACKETS = str.maketrans("", "", "()[]<>")
_POLICY = cast("EmailPolicy[EmailMessage]", _Policy())


def message_of(data: bytes) -> EmailMessage:
    """A message as the standard library reads it. Raises FileSkipped for an empty file."""
    if not data.strip():
        raise FileSkipped("is empty")
    return BytesParser(EmailMessage, policy=_POLICY).parsebytes(data.lstrip())


def load_eml(path: Path) -> Iterator[Piece]:
    """A message and its attachments. Raises FileSkipped for a file without any header of a mail."""
    data = path.read_bytes()
    message = message_of(data)
    head = data[:65536].replace(b"\r\n", b"\n").lstrip().partition(b"\n\n")[0]
    if not any(line.partition(b":")[0].strip().lower() in _KNOWN for line in head.split(b"\n") if b":" in line):
        raise FileSkipped("is damaged (no header of a mail in it)")
    yield from _pieces(message)


def load_mbox(path: Path) -> Iterator[Piece]:
    """The messages of a mailbox one by one, each with its attachments; none is in memory when the next is read.

    Raises FileSkipped where no line begins with "From ".
    """
    empty = True
    for data in _messages(path):
        empty = False
        if data.strip():
            yield from _pieces(message_of(data))
    if empty:
        raise FileSkipped("is empty" if not path.stat().st_size else "holds no message (no line begins with 'From ')")


def _messages(path: Path) -> Iterator[bytes]:
    message, begun, whole = bytearray(), False, True
    with path.open("rb") as file:
        while line := file.readline(1 << 20):
            if whole and line.startswith(b"From "):
                if begun:
                    yield bytes(message)
                message, begun = bytearray(), True
            elif len(message) < LONGEST:
                message += line
            whole = line.endswith(b"\n")
    if begun:
        yield bytes(message)


def load_msg(path: Path) -> Iterator[Piece]:
    """A mail of Outlook and its attachments; mails that are attached as such are named, not read."""
    from oxmsg import Message

    mail, attached = EmailMessage(policy=_POLICY), list[Inside]()
    try:
        source = Message.load(str(path))
        headers, sent = source.message_headers, source.sent_date
        values = {
            "Subject": source.subject,
            "From": source.sender,
            "To": headers.get("To") or ", ".join(f"{to.name} <{to.email_address}>" for to in source.recipients),
            "Cc": headers.get("Cc"),
            "Date": headers.get("Date") or (format_datetime(sent) if sent else None),
        }
        for name, value in values.items():
            mail[name] = _line(value)
        body = clean(source.body or "")
        mail.set_content(body if body.strip() else clean(source.html_body or ""), "plain" if body.strip() else "html")
        for attachment in source.attachments:
            data = attachment.file_bytes
            name = _line(attachment.file_name) or "attachment"
            attached.append(Inside(name, _no_bytes if data is None else partial(BytesIO, data)))
    except (*_MALFORMED, TypeError, LookupError, OSError, struct.error) as error:
        raise FileSkipped("is damaged (it cannot be read as a mail of Outlook)") from error
    yield _document(mail)
    yield from attached


def _line(text: str | None) -> str:
    return " ".join(clean(text or "").split())


def _no_bytes() -> IO[bytes]:
    raise FileSkipped("is a mail inside of one of Outlook")


def _pieces(message: EmailMessage) -> Iterator[Piece]:
    """A message and what is attached to it; of a mail that was forwarded as a whole, that mail."""
    yield _document(message)
    for part in _leaves(message):
        try:
            kind, name = part.get_content_type(), part.get_filename() or ""
            attached = name or part.get_content_disposition() == "attachment"
        except _MALFORMED:
            continue
        if kind == "message/rfc822" and part.is_multipart():
            forwarded = cast(EmailMessage, part.get_payload(0))
            yield Inside(name or f"{header(forwarded, 'Subject')}.eml", partial(_forwarded, forwarded))
        elif attached:
            yield Inside(name or f"attachment{mimetypes.guess_extension(kind) or ''}", partial(_payload, part))


def _leaves(message: EmailMessage) -> Iterator[EmailMessage]:
    """The parts of a message that have no parts, or are messages themselves."""
    if message.is_multipart() and not message.get_content_type().startswith("message/"):
        for part in message.iter_parts():
            yield from _leaves(cast(EmailMessage, part))
    else:
        yield message


def _forwarded(message: EmailMessage) -> IO[bytes]:
    return BytesIO(message.as_bytes())


def _payload(part: EmailMessage) -> IO[bytes]:
    return BytesIO(cast(bytes, part.get_payload(decode=True)))


def _document(message: EmailMessage) -> LoadedDocument:
    lines = [f"{name}: {value}" for name in _SHOWN if (value := header(message, name))]
    subject = header(message, "Subject")
    head = "\n".join([f"Subject: {subject}", *lines] if subject else lines)
    body = next((body for kind in ("plain", "html") if (body := _body(message, kind)).strip()), "")
    return document(clean(f"{head}\n\n{body}").strip(), subject, properties=_properties(message))


def _properties(message: EmailMessage) -> Properties:
    """The sender with the address, the moment of sending, the keywords; the title is the subject as it is."""
    sender, date = header(message, "From") or header(message, "Sender"), header(message, "Date")
    try:
        sent = iso_time(parsedate_to_datetime(date))
    except (ValueError, TypeError, IndexError, OverflowError):
        sent = iso_date(date)
    keywords = stated(subjects=[header(message, "Keywords")])
    return replace(keywords, author=one_line(sender, LONG_AUTHOR), date=sent)


def header(message: EmailMessage, name: str) -> str:
    """One header, decoded. The parser of the standard library raises many errors on malformed ones (bpo-30681)."""
    try:
        return " ".join(str(message.get(name, "")).split())
    except Exception:
        raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
        return " ".join(str(raw)[:_LONG_HEADER].split())


def _body(message: EmailMessage, kind: str) -> str:
    """The text of the message's part of that kind, or nothing."""
    try:
        part = message.get_body((kind,))
        payload = part and part.get_payload(decode=True)
        text = clean(decode(payload, part.get_content_charset() or "")) if part and isinstance(payload, bytes) else ""
    except (*_MALFORMED, FileSkipped):
        return ""
    return html_text_of(text)[0] if part and part.get_content_subtype() == "html" else text


def html_source(message: EmailMessage) -> str:
    """The first HTML among the parts of a message, nothing where there is none."""
    for part in message.walk():
        payload = part.get_payload(decode=True) if part.get_content_type() == "text/html" else None
        if isinstance(payload, bytes):
            return clean(decode(payload, part.get_content_charset() or declared_charset(payload)))
    return ""
