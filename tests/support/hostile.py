"""Make files as they exist in the world: some that no program should trust, and odd ones that must be read."""

import struct
import zipfile

SENTENCE = "The keeper lights the lamp of Skerryvore at dusk."
"""A sentence that proves that a file was read."""

CONTAINER = (
    '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def make_pdf(
    path,
    pages,
    properties=None,
    *,
    title="",
    password=None,
    drawn=False,
    large=0,
):
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


def draw_pdf(streams):
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


def make_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def docx_members(body):
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


def docx_paragraph(text, style=""):
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{styled}<w:r><w:t>{text}</w:t></w:r></w:p>"


def docx_styles(*names: str):
    """Return paragraph styles, each with its name without blanks as its id ("Heading 1" is Heading1)."""
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{name.replace(" ", "")}"><w:name w:val="{name}"/></w:style>'
        for name in names
    )
    return f'<w:styles xmlns:w="{WORD}">{styles}</w:styles>'.encode()


def epub_members(chapters, toc="", extra=None, metadata=""):
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


def lie_about_sizes(path, size):
    """Write another unzipped size in place of every member's true one in a zip file."""
    with zipfile.ZipFile(path) as archive:
        true = {member.file_size for member in archive.infolist()}
    data = path.read_bytes()
    for number in true:
        data = data.replace(struct.pack("<I", number), struct.pack("<I", size))
    path.write_bytes(data)


def make_mhtml(body, url=""):
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
