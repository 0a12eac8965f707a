"""OpenDocument (https://docs.oasis-open.org/office/OpenDocument/v1.3/) and books (EPUB): zip files of XML."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.html_text import HEADINGS, TextBuilder, add_tree, attribute, parse_xml, tag_of, text_of
from local_rag.index.parse.marks import Level, counted, mark, numbers_a_page
from local_rag.index.parse.office import deck
from local_rag.index.parse.package import properties_of, xml_of
from local_rag.index.parse.parsed_file import ParsedFile, Piece, Properties, headed, measured
from local_rag.index.parse.properties import dublin_core

_LEFT_OUT = frozenset("tracked-changes table-of-content note-citation forms notes del creator date".split())
_BOXES = ("{*}frame", "{*}note", "{*}custom-shape", "{*}g", "{*}annotation")
"""Elements inside of a paragraph that are read after it."""

_HTML = {
    "list": "ul",
    "list-item": "li",
    "table-row": "tr",
    "table-cell": "td",
    "covered-table-cell": "del",
    "line-break": "br",
    "desc": "p",
    "note": "div",
    "annotation": "div",
    "s": "span",
}
"""The elements of HTML that stand for elements of OpenDocument with another name."""

_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Methods that are not DRM: obfuscated fonts (https://www.w3.org/TR/epub-33/#sec-font-obfuscation, and Adobe's older
way).
"""


def load_odt(path: Path) -> ParsedFile:
    """Read a text: headings with their levels, paragraphs, lists, tables, notes and what stands for a picture."""
    body, properties = _opened(path)
    return ParsedFile((headed(*text_of(body, _LEFT_OUT), properties),))


def load_odp(path: Path) -> Iterator[Piece]:
    """Read slides: each is a page, with its notes at the end."""
    body, properties = _opened(path)
    yield from deck(map(_slide, body.iter("{*}page")), properties)


def _slide(page: Any) -> tuple[str, list[str]]:
    frames = [(attribute(frame, "class"), text_of(frame, _LEFT_OUT)[0]) for frame in page if tag_of(frame) != "notes"]
    title = next((text for kind, text in frames if kind == "title"), "")
    notes = " ".join(text_of(frame, _LEFT_OUT)[0] for frame in page.iterfind("{*}notes/*"))
    return title, [*(text for kind, text in frames if kind != "title"), f"Notes: {notes}" if notes.strip() else ""]


def _opened(path: Path) -> tuple[Any, Properties]:
    """Return the body of the content, its elements named as in HTML, and the properties."""
    with measured(path) as archive:
        content, properties = xml_of(archive, "content.xml"), properties_of(archive)
        styles = xml_of(archive, "styles.xml")
    body = None if content is None else content.find("{*}body")
    if body is None:
        raise FileSkipped("is damaged (no OpenDocument content inside)")
    trees = [content] if styles is None else [content, styles]
    _add_headers(body, trees[-1])
    for box in reversed(list(body.iter(*_BOXES))):
        _move_behind_paragraph(box)
    _number(body, trees)
    _rename(body, _marks(trees))
    mark(body)
    return body, properties


def _rename(body: Any, marks: Mapping[str, str]) -> None:
    for node in body.iter("{*}*"):
        tag = tag_of(node)
        if tag == "span":
            node.tag = marks.get(attribute(node, "style-name"), tag)
        elif tag == "h":
            level = attribute(node, "outline-level")
            node.tag = f"h{min(int(level), 6) if level.isdecimal() else 1}"
        elif tag == "p" and tag_of(node.getparent()) == "li":
            node.tag = "dd"  # on a line of its own, not apart from the other items
        else:
            node.tag = _HTML.get(tag, tag)
        if tag in ("s", "tab"):
            node.text = " "
        elif tag == "desc":
            node.text = f"Picture: {node.text}"
        columns = attribute(node, "number-columns-repeated") or attribute(node, "number-columns-spanned")
        node.set("colspan", columns)
        node.set("rowspan", attribute(node, "number-rows-spanned"))


def _marks(trees: Iterable[Any]) -> dict[str, str]:
    """Return by the names of styles what they do to a text, as an element of HTML: sup, sub or del."""
    marks: dict[str, str] = {}
    for properties in (each for tree in trees for each in tree.iter("{*}text-properties")):
        position = attribute(properties, "text-position").split(" ")[0]
        is_struck = attribute(properties, "text-line-through-style") not in ("", "none")
        is_gone = is_struck or attribute(properties, "display") == "none"
        mark = (
            "del" if is_gone else "sub" if position.startswith(("sub", "-")) else "sup" if position.strip("0%") else ""
        )
        if mark:
            marks[attribute(properties.getparent(), "name")] = mark
    return marks


def _number(body: Any, trees: Iterable[Any]) -> None:
    """Give the items of lists and the headings their labels."""
    styles = dict[str, dict[int, Level]]()
    for each in (style for tree in trees for style in tree.iter("{*}list-style", "{*}outline-style")):
        styles["" if tag_of(each) == "outline-style" else attribute(each, "name")] = {
            int(attribute(level, "level") or 1) - 1: _level(level) for level in each if attribute(level, "level")
        }
    counts = dict[str, dict[int, int]]()
    for node in body.iter("{*}list-item", "{*}h"):
        if tag_of(node) == "h":
            style, at = "", int(attribute(node, "outline-level") or 1) - 1
        else:
            lists = list(node.iterancestors("{*}list"))
            style, at = next(filter(None, (attribute(each, "style-name") for each in lists)), ""), len(lists) - 1
            is_first = node.getprevious() is None and at == 0
            if (
                is_first
                and attribute(lists[0], "continue-numbering") != "true"
                and not attribute(lists[0], "continue-list")
            ):
                counts.pop(style, None)
        if at in (levels := styles.get(style, {})):
            node.set("label", counted(counts.setdefault(style, {}), levels, at))


def _level(level: Any) -> Level:
    depth, shown = int(attribute(level, "level")), int(attribute(level, "display-levels") or 1)
    kind = attribute(level, "num-format")
    numbers = ".".join(f"%{number}" for number in range(max(1, depth - shown + 1), depth + 1))
    is_bullet = tag_of(level) == "list-level-style-bullet"
    template = f"{attribute(level, 'num-prefix')}{numbers if kind else ''}{attribute(level, 'num-suffix')}"
    return Level(kind, "-" if is_bullet else template, int(attribute(level, "start-value") or 1))


def _add_headers(body: Any, styles: Any) -> None:
    """Add headers and footers around the text."""
    texts = body.find("{*}text")
    for kind, at in (("header", 0), ("footer", -1)):
        for said in dict.fromkeys(" ".join("".join(each.itertext()).split()) for each in styles.iter(f"{{*}}{kind}")):
            if texts is not None and not numbers_a_page(said):
                paragraph = body.makeelement("p")
                paragraph.text = f"{kind.title()}: {said}"
                texts.insert(at if at == 0 else len(texts), paragraph)


def _move_behind_paragraph(box: Any) -> None:
    """Move a picture or a note behind the paragraph that it stands in, so that it does not tear a sentence."""
    paragraph, first = next(box.iterancestors("{*}p", "{*}h"), None), next(box.iter("{*}p"), None)
    if paragraph is not None:
        stub = box.makeelement("span")
        if (cited := box.findtext("{*}note-citation")) and first is not None:
            stub.text, first.text = f"[{cited}]", f"[{cited}] {first.text or ''}"
        elif tag_of(box) == "annotation" and first is not None:
            first.text = f"Comment by {box.findtext('{*}creator')}: {first.text or ''}"
        stub.tail, box.tail = box.tail, None
        box.getparent().replace(box, stub)
        paragraph.addnext(box)


def load_epub(path: Path) -> ParsedFile:
    """Read a book as one document, in the order of its spine; there are no pages. Raises FileSkipped under DRM.

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
    """Return the first label of each chapter in the tables of contents, EPUB 3's nav and EPUB 2's NCX."""
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
