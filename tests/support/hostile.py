"""Make files as they exist in the world: some that no program should trust, and odd ones that must be read."""

from __future__ import annotations

import os
import struct
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdf import PdfWriter

SENTENCE = "The keeper lights the lamp of Skerryvore at dusk."
"""A sentence in every file of `make_good`, with which a search can prove that the file was read."""

CONTAINER = (
    '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def make_pdf(
    path: Path,
    pages: list[str],
    properties: dict[str, str] | None = None,
    *,
    title: str = "",
    password: str | None = None,
    drawn: bool = False,
    large: int = 0,
) -> Path:
    """Make a PDF with one line of Helvetica per line of a page; `drawn` adds a line of ink that is no text.

    The first `large` lines of a page have twice the size of the others.
    """
    streams = []
    for text in pages:
        lines = [f"({line.translate(ESCAPES)}) Tj T*\n" for line in text.split("\n") if line]
        shown = "".join(["/F1 24 Tf\n" * bool(large), *lines[:large], "/F1 12 Tf\n" * bool(large), *lines[large:]])
        ink = "10 10 m 200 200 l S\n" if drawn else ""
        streams.append(ink + f"BT /F1 12 Tf 14 TL 72 760 Td\n{shown}ET" * bool(shown))
    writer = draw_pdf(streams)
    writer.add_metadata({f"/{name}": value for name, value in ({"Title": title} | (properties or {})).items() if value})
    if password is not None:
        writer.encrypt(password, owner_password="owner", algorithm="AES-256")
    writer.write(path)
    return path


def draw_pdf(streams: list[str]) -> PdfWriter:
    """Make a PDF with a page for each stream of operators, in which /F1 is Helvetica."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    font = {"Type": "Font", "Subtype": "Type1", "BaseFont": "Helvetica", "Encoding": "WinAnsiEncoding"}
    named = DictionaryObject({NameObject(f"/{name}"): NameObject(f"/{value}") for name, value in font.items()})
    fonts = DictionaryObject({NameObject("/F1"): named})
    for operators in streams:
        page = writer.add_blank_page(595, 842)
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(operators.encode("cp1252"))
        page[NameObject("/Contents")] = writer._add_object(stream)  # noqa: SLF001  # pypdf has no public name for it
    return writer


ESCAPES = str.maketrans({"(": r"\(", ")": r"\)", "\\": r"\\"})


def make_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def docx_members(body: str) -> dict[str, bytes]:
    """Return the minimum that Word opens; `body` is the inside of <w:body>."""
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return {
        "[Content_Types].xml": (
            f'<Types xmlns="{package}/content-types"><Default Extension="xml" ContentType="application/xml"/>'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>'
        ).encode(),
        "_rels/.rels": (
            f'<Relationships xmlns="{package}/relationships">'
            f'<Relationship Id="r1" Type="{office}" Target="word/document.xml"/></Relationships>'
        ).encode(),
        "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'.encode(),
    }


def docx_paragraph(text: str, style: str = "") -> str:
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{styled}<w:r><w:t>{text}</w:t></w:r></w:p>"


def docx_styles(*names: str) -> bytes:
    """Return paragraph styles, each with its name without blanks as its id ("Heading 1" is Heading1)."""
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{name.replace(" ", "")}"><w:name w:val="{name}"/></w:style>'
        for name in names
    )
    return f'<w:styles xmlns:w="{WORD}">{styles}</w:styles>'.encode()


def epub_members(
    chapters: dict[str, str], toc: str = "", extra: dict[str, bytes] | None = None, metadata: str = ""
) -> dict[str, bytes]:
    """Return a book: file name -> the inside of <body>, in the order of the spine; `metadata` is beside the title."""
    items = "".join(f'<item id="{n}" href="{n}" media-type="application/xhtml+xml"/>' for n in chapters)
    refs = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    nav = '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>' if toc else ""
    package = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Lamps &amp; Ledgers</dc:title>'
        f"{metadata}</metadata>"
        f"<manifest>{items}{nav}</manifest><spine>{refs}</spine></package>"
    )
    page = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>{}</body></html>'
    members = {"mimetype": b"application/epub+zip", "META-INF/container.xml": CONTAINER.encode()}
    members |= {f"OPS/{name}": page.format(body).encode() for name, body in chapters.items()}
    members |= {"OPS/nav.xhtml": page.format(f"<nav><ol>{toc}</ol></nav>").encode()} if toc else {}
    return members | {"OPS/book.opf": package.encode()} | (extra or {})


def lie_about_sizes(path: Path, size: int) -> None:
    """Write another unzipped size in place of every member's true one in a zip file."""
    with zipfile.ZipFile(path) as archive:
        true = {member.file_size for member in archive.infolist()}
    data = path.read_bytes()
    for number in true:
        data = data.replace(struct.pack("<I", number), struct.pack("<I", size))
    path.write_bytes(data)


def make_mhtml(body: str, url: str = "") -> bytes:
    """Return a page as Chromium saves it in one file: MIME, quoted-printable, with a picture beside it."""
    import quopri

    page = quopri.encodestring(f"<html><body>{body}</body></html>".encode()).decode()
    head = f"From: <Saved by Blink>\nSnapshot-Content-Location: {url}\nSubject: A page\nMIME-Version: 1.0\n"
    return (
        f'{head}Content-Type: multipart/related; type="text/html"; boundary="--cut"\n\n'
        f"----cut\nContent-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n"
        f"Content-Location: {url}\n\n{page}\n"
        "----cut\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo=\n----cut--\n"
    ).encode()


def make_hostile(folder: Path) -> dict[str, str]:
    """Make files that must be skipped, and return name -> a part of the reason.

    Links and pipes are left out on systems without them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    make_pdf(folder / "password.pdf", [SENTENCE], password="secret")
    make_pdf(folder / "scanned.pdf", ["", ""], drawn=True)
    whole = make_pdf(folder / "truncated.pdf", [SENTENCE]).read_bytes()
    (folder / "truncated.pdf").write_bytes(whole[:150])
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 40)
    zeros = bytes(30_000_000)
    make_zip(folder / "bomb.docx", docx_members(docx_paragraph(SENTENCE)) | {"word/media/image.bin": zeros})
    make_zip(folder / "bomb.epub", epub_members({"a.xhtml": f"<p>{SENTENCE}</p>"}, extra={"OPS/font.bin": zeros}))
    make_zip(folder / "lying.docx", docx_members(docx_paragraph(SENTENCE)) | {"word/media/image.bin": zeros})
    lie_about_sizes(folder / "lying.docx", 1000)
    (folder / "nozip.docx").write_text(SENTENCE, "utf-8")
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 64)
    (folder / "empty.txt").write_bytes(b"")
    (folder / "pictures.mhtml").write_bytes(b"MIME-Version: 1.0\nContent-Type: image/png\n\n" + bytes(range(256)))
    (folder / "blank.md").write_text(" \n\t\r\n\n", "utf-8")
    found = {
        "password.pdf": "encrypted with a password",
        "scanned.pdf": "pages 1, 2: no text layer (scanned?)",
        "truncated.pdf": "is damaged",
        "broken.pdf": "is damaged",
        "bomb.docx": "a zip bomb?",
        "bomb.epub": "a zip bomb?",
        "lying.docx": "is damaged",
        "nozip.docx": "is damaged",
        "binary.txt": "is binary, not text",
        "empty.txt": "is empty",
        "pictures.mhtml": "holds no page",
        "blank.md": "is empty",
    }
    with suppress(OSError, NotImplementedError):
        (folder / "circle.txt").symlink_to("circle.txt")
        found["circle.txt"] = "leads in a circle"
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.txt")
        found["pipe.txt"] = "is not a regular file"
    return found


def make_good(folder: Path, huge: int = 1_000_000) -> list[Path]:
    """Make odd files that must be read, each with SENTENCE in it; `huge` is the length of a line without a blank."""
    folder.mkdir(parents=True, exist_ok=True)
    text = f"Café, naïve, Øre. {SENTENCE} “Quoted” – and €5.\n"
    files = {
        "bom.txt": b"\xef\xbb\xbf" + text.encode(),
        "utf16.txt": text.encode("utf-16"),
        "cp1252.txt": (text * 5).encode("cp1252"),
        "windows.md": f"# Lamps\r\n\r\n{SENTENCE}\r\n".encode(),
        "hugeline.txt": f"{'x' * huge} {SENTENCE}".encode(),
        "hugefield.csv": f"name,note\nlog,{'y' * huge}\nlamp,{SENTENCE}\n".encode(),
        "deep.json": b"[" * 100_000 + f'"{SENTENCE}"'.encode() + b"]" * 100_000,
        "deep.html": b"<html><body>" + b"<div>" * 100_000 + SENTENCE.encode() + b"</div>" * 100_000,
        "saved.mhtml": make_mhtml(f"<p>{SENTENCE}</p>", "https://example.org/lamp"),
        "nul.txt": b"log\x00 " + SENTENCE.encode() * 20,
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    made = [
        make_pdf(folder / "empty-password.pdf", [SENTENCE], password=""),
        make_pdf(folder / "blank-page.pdf", [SENTENCE, ""]),
        make_zip(folder / "note.docx", docx_members(docx_paragraph(SENTENCE))),
        make_zip(folder / "book.epub", epub_members({"a.xhtml": f"<p>{SENTENCE}</p>"})),
    ]
    with suppress(OSError, NotImplementedError):
        (folder / "loop").symlink_to(folder, target_is_directory=True)
    return sorted([*(folder / name for name in files), *made])
