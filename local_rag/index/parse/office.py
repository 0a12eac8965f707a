"""Texts of Word (DOCX) and books (EPUB): zip files of markup."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from local_rag.core.documents import Heading
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.html_text import TextBuilder, add_tree, html_text_of, parse_xml
from local_rag.index.parse.parsed_file import ParsedFile, Properties, clean, document
from local_rag.index.parse.properties import MANY, stated
from local_rag.index.parse.zips import measured, xml_of

_DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
_CORE_NAMES = ("title", "creator", "date", "subject")

_TEMPLATES_MADE = ("2013-12-23T23:15:00Z", "2013-01-27T09:14:16Z")
"""When the templates of python-docx and python-pptx were made, which programs leave in what they write with them."""

_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Not DRM: obfuscated fonts (https://www.w3.org/TR/epub-33/#sec-font-obfuscation, and Adobe's older way)."""


def load_docx(path: Path) -> ParsedFile:
    """A Word file by mammoth: headings, lists and tables; pictures are left out, equations are named as not read."""
    import mammoth

    with measured(path) as archive:
        properties = core_properties(archive)
    with path.open("rb") as file:
        styles = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"
        no_pictures = mammoth.images.img_element(lambda image: {})
        try:
            converted = mammoth.convert_to_html(file, convert_image=no_pictures, style_map=styles)
        except (KeyError, AttributeError, TypeError, ValueError, OSError) as error:
            raise FileSkipped("is damaged (it cannot be read as Word)") from error
    text, headings = html_text_of(clean(converted.value))
    lost = any("}oMath" in message.message for message in converted.messages)
    warnings = ("its equations were not read",) if lost else ()
    first = headings[0].text if headings else ""
    return ParsedFile((document(text.removesuffix("↑"), first, headings=headings, properties=properties),), warnings)


def core_properties(archive: zipfile.ZipFile) -> Properties:
    """Those of Word, Excel and PowerPoint (ECMA-376, part 2, section 11); a template's date says nothing of a file."""
    core = xml_of(archive, "docProps/core.xml")
    authors, created = _text(core, ".//{*}creator"), _text(core, ".//{*}created")
    date = "" if created in _TEMPLATES_MADE else created
    subjects = [_text(core, f".//{{*}}{name}") for name in ("subject", "keywords")]
    return stated(_text(core, ".//{*}title"), authors.split(";"), date, subjects)


def load_epub(path: Path) -> ParsedFile:
    """A book as one document, in the order of its spine; there are no pages. Raises FileSkipped under DRM.

    A chapter without a heading of its own gets its label from the table of contents
    (https://www.w3.org/TR/epub-33/#sec-package-doc).
    """
    with measured(path) as archive:
        _refuse_drm(archive)
        package_name, package = _package(archive)
        labels = _labels(archive, package, package_name)
        parts: list[str] = []
        headings: list[Heading] = []
        length, missing = 0, []
        for name in _spine(package, package_name):
            try:
                chapter = _chapter(archive.read(name), labels.get(name, ""))
            except (KeyError, FileSkipped):
                missing.append(posixpath.basename(name))
                continue
            text, found = chapter.picked(chapter.lines())
            if text:
                headings += [Heading(length + h.start, h.level, h.text) for h in found]
                parts.append(text)
                length += len(text) + 2
    warnings = (f"chapters not found in the file: {', '.join(missing)}",) if missing else ()
    book = document("\n\n".join(parts), headings=headings, properties=_book_properties(package))
    return ParsedFile((book,), warnings)


def _book_properties(package: Any) -> Properties:
    """Dublin Core's (https://www.w3.org/TR/epub-33/#sec-opf-dcmes-optional); of several dates, that of publication."""
    named = {name: package.findall(f".//{{*}}metadata//{{{_DUBLIN_CORE}}}{name}")[:MANY] for name in _CORE_NAMES}
    dates = sorted(named["date"], key=lambda date: "publication" not in "".join(date.attrib.values()))
    title, date = next(iter(named["title"]), None), next(iter(dates), None)
    authors, subjects = [[_spelled(node) for node in named[name]] for name in ("creator", "subject")]
    return stated(_spelled(title), authors, _spelled(date), subjects)


def _refuse_drm(archive: zipfile.ZipFile) -> None:
    tree = xml_of(archive, "META-INF/encryption.xml")
    methods = [] if tree is None else [node.get("Algorithm", "") for node in tree.iter("{*}EncryptionMethod")]
    if any(method not in _FONTS for method in methods):
        raise FileSkipped("is encrypted (DRM)")


def _package(archive: zipfile.ZipFile) -> tuple[str, Any]:
    try:
        container = parse_xml(archive.read("META-INF/container.xml"))
        name = container.find(".//{*}rootfile").get("full-path")
        package = parse_xml(archive.read(name))
    except (KeyError, AttributeError) as error:
        raise FileSkipped("is damaged (no package document inside)") from error
    if package is None:
        raise FileSkipped("is damaged (its package document is no XML)")
    return name, package


def _spine(package: Any, package_name: str) -> Iterator[str]:
    """Names of the chapters in reading order."""
    manifest = {item.get("id"): item for item in package.iterfind(".//{*}manifest/{*}item")}
    for reference in package.iterfind(".//{*}spine/{*}itemref"):
        item = manifest.get(reference.get("idref"))
        if item is None or "html" not in item.get("media-type", "") or not item.get("href"):
            continue
        if "nav" not in item.get("properties", "").split():
            yield _resolved(package_name, item.get("href"))


def _resolved(base: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(href.partition("#")[0])))


def _labels(archive: zipfile.ZipFile, package: Any, package_name: str) -> dict[str, str]:
    """Chapter -> its first label in the table of contents, EPUB 3's nav or EPUB 2's NCX."""
    labels: dict[str, str] = {}
    for item in package.iterfind(".//{*}manifest/{*}item"):
        is_nav = "nav" in item.get("properties", "").split()
        if not is_nav and item.get("media-type") != "application/x-dtbncx+xml":
            continue
        name = _resolved(package_name, item.get("href", ""))
        tree = xml_of(archive, name)
        for point in () if tree is None else tree.iter("{*}a", "{*}navPoint"):
            content = point.find("{*}content")
            target = point.get("href") or ("" if content is None else content.get("src"))
            label = " ".join("".join(point.itertext()).split()) if is_nav else _text(point, "{*}navLabel/{*}text")
            if target:
                labels.setdefault(_resolved(name, target), label)
    return labels


def _chapter(data: bytes, label: str) -> TextBuilder:
    builder, headed = TextBuilder(), TextBuilder()
    tree = parse_xml(data)
    body = None if tree is None else tree.find("{*}body")
    if body is None:
        return builder
    add_tree(body, builder)
    if builder.headings or not (label and builder.text):
        return builder
    headed.open_heading(1)
    headed.add(clean(label))
    headed.close_heading()
    headed.block(2)
    add_tree(body, headed)
    return headed


def _text(tree: Any, path: str) -> str:
    return _spelled(None if tree is None else tree.find(path))


def _spelled(node: Any) -> str:
    return " ".join("".join(node.itertext()).split()) if node is not None else ""
