"""OpenDocument (https://docs.oasis-open.org/office/OpenDocument/v1.3/) and books (EPUB): zip files of XML."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.html_text import HEADINGS, TextBuilder, add_tree, attribute, parse_xml, tag_of, text_of
from local_rag.index.parse.marks import mark
from local_rag.index.parse.office import deck
from local_rag.index.parse.package import properties_of, xml_of
from local_rag.index.parse.parsed_file import ParsedFile, Piece, Properties, headed, measured
from local_rag.index.parse.properties import dublin_core

_LEFT_OUT = frozenset("tracked-changes annotation table-of-content note-citation forms notes".split())
_BOXES = ("{*}frame", "{*}note", "{*}custom-shape", "{*}g")
"""What stands inside of a paragraph and is read after it."""

_HTML = {
    "list": "ul",
    "list-item": "li",
    "table-row": "tr",
    "table-cell": "td",
    "covered-table-cell": "td",
    "line-break": "br",
    "desc": "p",
    "note": "div",
}
"""What an element is called in HTML, where it is not called the same."""

_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Not DRM: obfuscated fonts (https://www.w3.org/TR/epub-33/#sec-font-obfuscation, and Adobe's older way)."""


def load_odt(path: Path) -> ParsedFile:
    """A text: headings with their levels, paragraphs, lists, tables, notes and what stands for a picture."""
    body, properties = _opened(path)
    return ParsedFile((headed(*text_of(body, _LEFT_OUT), properties),))


def load_odp(path: Path) -> Iterator[Piece]:
    """Slides: each is a page, with its notes at the end."""
    body, properties = _opened(path)
    yield from deck(map(_slide, body.iter("{*}page")), properties)


def _slide(page: Any) -> tuple[str, list[str]]:
    frames = [(attribute(frame, "class"), text_of(frame, _LEFT_OUT)[0]) for frame in page if tag_of(frame) != "notes"]
    title = next((text for kind, text in frames if kind == "title"), "")
    notes = " ".join(text_of(frame, _LEFT_OUT)[0] for frame in page.iterfind("{*}notes/*"))
    return title, [*(text for kind, text in frames if kind != "title"), f"Notes: {notes}" if notes.strip() else ""]


def _opened(path: Path) -> tuple[Any, Properties]:
    """The body of the content, its elements called as in HTML, and the properties."""
    with measured(path) as archive:
        content, properties = xml_of(archive, "content.xml"), properties_of(archive)
    body = None if content is None else content.find("{*}body")
    if body is None:
        raise FileSkipped("is damaged (no OpenDocument content inside)")
    for box in reversed(list(body.iter(*_BOXES))):
        _move_behind_paragraph(box)
    for node in body.iter("{*}*"):
        tag = tag_of(node)
        if tag == "h":
            level = attribute(node, "outline-level")
            node.tag = f"h{min(int(level), 6) if level.isdecimal() else 1}"
        elif tag in ("s", "tab"):
            node.text = " "
        elif tag == "p" and tag_of(node.getparent()) == "li":
            node.tag = "dd"  # on a line of its own, not apart from the other items
        else:
            node.tag = _HTML.get(tag, tag)
        if tag == "desc":
            node.text = f"Picture: {node.text}"
        node.set("colspan", attribute(node, "number-columns-repeated"))
    return body, properties


def _move_behind_paragraph(box: Any) -> None:
    """A picture or a note does not tear the sentence that it stands in."""
    paragraph = next(box.iterancestors("{*}p", "{*}h"), None)
    if paragraph is not None:
        stub = box.makeelement("span")
        stub.tail, box.tail = box.tail, None
        box.getparent().replace(box, stub)
        paragraph.addnext(box)


def load_epub(path: Path) -> ParsedFile:
    """A book as one document, in the order of its spine; there are no pages. Raises FileSkipped under DRM.

    A chapter without a heading of its own gets its label from the table of contents
    (https://www.w3.org/TR/epub-33/#sec-package-doc).
    """
    book, missing = TextBuilder(), list[str]()
    with measured(path) as archive:
        locks = xml_of(archive, "META-INF/encryption.xml")
        methods = [] if locks is None else locks.iter("{*}EncryptionMethod")
        if any(method.get("Algorithm") not in _FONTS for method in methods):
            raise FileSkipped("is encrypted (DRM)")
        base = parse_xml(archive.read("META-INF/container.xml")).find(".//{*}rootfile").get("full-path")
        package = parse_xml(archive.read(base))
        items = {item.get("id"): item for item in package.iterfind(".//{*}manifest/{*}item[@href]")}
        names = {key: _resolved(base, item.get("href")) for key, item in items.items()}
        contents = {names[key] for key, item in items.items() if "nav" in item.get("properties", "").split()}
        labels = _labels(archive, contents | {name for name in names.values() if name.endswith(".ncx")})
        for reference in package.iterfind(".//{*}spine/{*}itemref"):
            name = names.get(reference.get("idref"), "")
            if name and name not in contents:
                tree = xml_of(archive, name)
                if tree is None:
                    missing.append(posixpath.basename(name))
                else:
                    _add_chapter(book, tree, labels.get(name, ""))
    warnings = (f"chapters not found in the file: {', '.join(missing)}",) if missing else ()
    properties = dublin_core(package.find("{*}metadata"))
    return ParsedFile((headed(book.text, book.headings, properties),), warnings)


def _labels(archive: zipfile.ZipFile, contents: Iterable[str]) -> dict[str, str]:
    """Chapter -> its first label in the tables of contents, EPUB 3's nav and EPUB 2's NCX."""
    labels: dict[str, str] = {}
    for name in contents:
        tree = xml_of(archive, name)
        for point in () if tree is None else tree.iter("{*}a", "{*}navPoint"):
            target, label = (point.find(f"{{*}}{part}") for part in ("content", "navLabel"))
            href = point.get("href", "") if target is None else target.get("src", "")
            text = " ".join("".join((point if label is None else label).itertext()).split())
            labels.setdefault(_resolved(name, href), text)
    return labels


def _add_chapter(book: TextBuilder, tree: Any, label: str) -> None:
    body = tree.find("{*}body")
    if body is None or not any(map(str.strip, body.itertext())):
        return
    book.block(2)
    if label and not any(tag_of(node) in HEADINGS for node in body.iter()):
        book.open_heading()
        book.add(label)
        book.close_heading(1)
        book.block(2)
    mark(body)
    add_tree(body, book)


def _resolved(base: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(href.partition("#")[0])))
