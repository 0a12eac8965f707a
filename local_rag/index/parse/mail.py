"""Mail: one message (.eml) or many (.mbox), by the standard library; attachments are named, not read."""

from __future__ import annotations

import mailbox
from collections.abc import Iterator
from dataclasses import replace
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import EmailPolicy
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import IO, Any, cast

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.dates import iso_date, iso_time
from local_rag.index.parse.markup import html_text_of
from local_rag.index.parse.parsed_file import ParsedFile, Properties, clean, document
from local_rag.index.parse.properties import LONG_AUTHOR, one_line, stated
from local_rag.text.display import joined, shorten
from local_rag.text.encoding import declared_charset, decode

_SHOWN = ("From", "To", "Cc", "Date")
_LONG_HEADER = 2000
"""Characters of a header that are looked at: the standard library takes quadratic time for a long one."""

_KNOWN = set(b"from to subject date received return-path message-id mime-version delivered-to".split())


class _Policy(EmailPolicy):
    """The default policy, which parses a header when it is asked for; brackets in brackets go too deep for it."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        try:
            return super().header_fetch_parse(name, value[:_LONG_HEADER])
        except RecursionError:
            return super().header_fetch_parse(name, value[:_LONG_HEADER].translate(_NO_BRACKETS))


_NO_BRACKETS = str.maketrans("", "", "()[]<>")
POLICY = cast("EmailPolicy[EmailMessage]", _Policy())


def load_eml(path: Path) -> ParsedFile:
    """One message as one document. Raises FileSkipped for a file without any header of a mail."""
    data = path.read_bytes()
    if not data.strip():
        raise FileSkipped("is empty")
    if not _has_header(data):
        raise FileSkipped("is damaged (no header of a mail in it)")
    message = BytesParser(EmailMessage, policy=POLICY).parsebytes(data.lstrip())
    return ParsedFile((_document(message),), _warnings([message]))


def _has_header(data: bytes) -> bool:
    head = data[:65536].replace(b"\r\n", b"\n").lstrip().partition(b"\n\n")[0]
    return any(line.partition(b":")[0].strip().lower() in _KNOWN for line in head.split(b"\n") if b":" in line)


def load_mbox(path: Path) -> ParsedFile:
    """A mailbox, one document per message. Raises FileSkipped where no line begins with "From "."""
    box = mailbox.mbox(path, factory=_message, create=False)  # type: ignore[arg-type]
    try:
        messages: list[EmailMessage] = list(box)  # type: ignore[arg-type]
    finally:
        box.close()
    if not messages:
        raise FileSkipped("is empty" if not path.stat().st_size else "holds no message (no line begins with 'From ')")
    return ParsedFile(tuple(_document(message) for message in messages), _warnings(messages))


def _message(file: IO[bytes]) -> EmailMessage:
    return BytesParser(EmailMessage, policy=POLICY).parse(file)


def _document(message: EmailMessage) -> LoadedDocument:
    lines = [f"{name}: {value}" for name in _SHOWN if (value := header(message, name))]
    subject = header(message, "Subject")
    head = "\n".join([f"Subject: {subject}", *lines] if subject else lines)
    return document(clean(f"{head}\n\n{_body(message)}").strip(), subject, properties=_properties(message))


def _properties(message: EmailMessage) -> Properties:
    """The sender with the address, the moment of sending, the keywords; the title is the subject as it is."""
    sender = one_line(header(message, "From") or header(message, "Sender"), LONG_AUTHOR)
    return replace(stated(subjects=[header(message, "Keywords")]), author=sender, date=_sent(message))


def _sent(message: EmailMessage) -> str:
    date = header(message, "Date")
    try:
        return iso_time(parsedate_to_datetime(date))
    except (ValueError, TypeError, IndexError, OverflowError):
        return iso_date(date)


def header(message: EmailMessage, name: str) -> str:
    """One header, decoded. The parser of the standard library raises many errors on malformed ones (bpo-30681)."""
    try:
        return " ".join(str(message.get(name, "")).split())
    except Exception:
        raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
        return " ".join(str(raw)[:_LONG_HEADER].split())


def _body(message: EmailMessage) -> str:
    """The plain part; the text of the HTML part where there is none or where it is blank."""
    return next((body for kind in ("plain", "html") if (body := _part(message, kind)).strip()), "")


def _part(message: EmailMessage, kind: str) -> str:
    """The text of the message's part of that kind, or nothing."""
    try:
        part = message.get_body((kind,))
    except (AttributeError, KeyError, ValueError):  # a malformed Content-Type
        return ""
    payload = None if part is None else part.get_payload(decode=True)
    if part is None or not isinstance(payload, bytes):
        return ""
    try:
        text = clean(decode(payload, part.get_content_charset() or ""))
    except FileSkipped:
        return ""
    return html_text_of(text).text if part.get_content_subtype() == "html" else text


def html_source(message: EmailMessage) -> str:
    """The first HTML among the parts of a message, nothing where there is none."""
    for part in message.walk():
        payload = part.get_payload(decode=True) if part.get_content_type() == "text/html" else None
        if isinstance(payload, bytes):
            return clean(decode(payload, part.get_content_charset() or declared_charset(payload)))
    return ""


def _warnings(messages: list[EmailMessage]) -> tuple[str, ...]:
    names = [name for message in messages for name in _attachments(message)]
    if not names:
        return ()
    shown = joined([*names[:5], f"{len(names) - 5} more"] if len(names) > 6 else names)
    return (f"attachments were not read: {shown}",)


def _attachments(message: EmailMessage) -> Iterator[str]:
    for part in message.walk():
        try:
            name = part.get_filename()
            attached = name or part.get_content_disposition() == "attachment"
            kind = part.get_content_type()
        except (AttributeError, KeyError, ValueError, IndexError):
            continue
        if attached and not part.is_multipart():
            yield shorten(clean(name or kind), 80)
