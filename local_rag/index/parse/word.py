"""Word's texts (DOCX): WordprocessingML (ECMA-376, part 1, section 17), its elements named as in HTML.

What stands beside the body comes into it: numbers of lists, notes, comments, headers, footers, text boxes, charts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.html_text import attribute, tag_of, text_of, value
from local_rag.index.parse.marks import CHECKED, UNCHECKED, Level, counted, mark, numbered, numbers_a_page
from local_rag.index.parse.package import Package, properties_of
from local_rag.index.parse.parsed_file import Piece, headed, measured

_LEFT_OUT = frozenset("s del movefrom fallback".split())
_NOT_THERE = {"sdt": "{*}sdtPr/{*}showingPlcHdr", "tr": "{*}trPr/{*}del"}
"""The path that shows that a content control is not filled in, and that a row is deleted."""

_HTML = {"tbl": "table", "tc": "td", "cr": "br"} | dict.fromkeys("txbxcontent footnote endnote comment".split(), "div")
_TEXTS = {"tab": " ", "nobreakhyphen": "\u2011", "rad": "√", "omath": " "}
_KINDS = {"lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I"}
_LIFTED = {"superscript": "sup", "subscript": "sub"}
_GONE = ("strike", "dstrike", "vanish")
_OFF = ("0", "false")
_SIGNS = str.maketrans("\uf0fe\uf0fd\uf078\uf0a8\uf06f\uf072\uf0fc\uf0fb\uf0b7\uf0a7\u2061", "☒☒☒☐☐☐✓✗•▪ ")
"""Characters of Wingdings, and the one between a function and its argument."""

_HEADING = re.compile(r"heading ?([1-6])")
_INHERITED = 10
"""The most styles that a style is based on."""


def load_docx(path: Path) -> Iterator[Piece]:
    """Read a Word file; pictures are left out, and what is hidden, struck out or deleted as a tracked change."""
    with measured(path) as archive:
        package = Package(archive)
        main = next(package.named("", "officeDocument"), "")
        tree = package.xml(main)
        body = None if tree is None else tree.find("{*}body")
        if body is None:
            raise FileSkipped("is damaged (no Word document inside)")
        _Text(package, main, body).rewrite()
        yield headed(*text_of(body, _LEFT_OUT), properties_of(archive))
        yield from package.embedded(main)


class _Text:
    """A body that is being rewritten, and what of its package it needs."""

    def __init__(self, package: Package, main: str, body: Any) -> None:
        self.package, self.main, self.body = package, main, body
        self.styles = {attribute(each, "styleId"): each for each in self._all("styles", "style")}
        self.abstracts = {attribute(each, "abstractNumId"): each for each in self._all("numbering", "abstractNum")}
        self.lists = {attribute(each, "numId"): each for each in self._all("numbering", "num")}
        self.levels: dict[str, dict[int, Level]] = {}
        self.counts: dict[str, dict[int, int]] = {}

    def _all(self, kind: str, tag: str) -> Iterator[Any]:
        """Yield the elements of that name in the parts of a kind."""
        for name in (*self.package.named(self.main, kind),) or (f"word/{kind}.xml",):
            tree = self.package.xml(name)
            yield from () if tree is None else tree.iter(f"{{*}}{tag}")

    def rewrite(self) -> None:
        self._add_asides()
        self._rename(self.body)
        for kind, root, at in (("header", "hdr", 0), ("footer", "ftr", len(self.body))):
            lines = dict.fromkeys(map(self._line, self._all(kind, root)))
            for line in lines:
                if not numbers_a_page(line):
                    self.body.insert(at, self._paragraph(f"{kind.title()}: {line}"))

    def _line(self, part: Any) -> str:
        self._rename(part)
        return " ".join(text_of(part, _LEFT_OUT)[0].split())

    def _paragraph(self, text: str, tag: str = "p") -> Any:
        paragraph = self.body.makeelement(tag)
        paragraph.append(self.body.makeelement("t"))
        paragraph[0].text = text
        return paragraph

    def _add_asides(self) -> None:
        """Add notes, comments, text boxes and drawings, each behind the paragraph that it belongs to, and each once."""
        kinds = ("footnote", "endnote", "comment")
        notes = {(kind, attribute(note, "id")): note for kind in kinds for note in self._all(f"{kind}s", kind)}
        count, asides = Counter[str](), list[tuple[Any, Any]]()
        referring = [f"{{*}}{kind}Reference" for kind in kinds]
        for node in list(self.body.iter(*referring, "{*}txbxContent", "{*}graphicData")):
            tag, paragraph = tag_of(node), next(node.iterancestors("{*}p"), None)
            kind = tag.removesuffix("reference")
            if paragraph is None or next(node.iterancestors("{*}Fallback"), None) is not None:
                continue
            if tag == "graphicdata":
                asides += [(paragraph, self._paragraph(line, "dd")) for line in self.package.drawn(self.main, node)]
            elif tag == "txbxcontent":
                asides.append((paragraph, node))
            elif (note := notes.pop((kind, attribute(node, "id")), None)) is not None:
                count[kind] += 1
                sign = f"[{numbered(count[kind], 'i' if kind == 'endnote' else '1')}] "
                if kind == "comment":
                    sign = f"Comment by {attribute(note, 'author')}: "
                else:
                    node.tag, node.text = "t", sign.strip()
                (note if (first := note.find("{*}p")) is None else first).insert(0, self._paragraph(sign)[0])
                asides.append((paragraph, note))
        for paragraph, aside in reversed(asides):
            paragraph.addnext(aside)

    def _rename(self, part: Any) -> None:
        """Name the elements as in HTML; no text stays but what a reader sees."""
        for node in list(part.iter("*")):
            tag = tag_of(node)
            node.tail = None
            node.text = _said(node, tag)
            if tag == "p":
                tag = self._block(node)
            elif tag == "r":
                tag = self._inline(node)
            elif tag == "tc":
                node.set("colspan", value(node, "tcPr/gridSpan"))
                merged = node.find("{*}tcPr/{*}vMerge")
                if merged is not None and attribute(merged, "val") != "restart":
                    node.set("continued", "")
            elif tag == "d":  # what an equation has in brackets
                node.text, node.tail = value(node, "dPr/begChr") or "(", value(node, "dPr/endChr") or ")"
            elif tag in _NOT_THERE and node.find(_NOT_THERE[tag]) is not None:
                tag = "del"
            node.tag = _HTML.get(tag, tag)
        mark(part)

    def _chain(self, style: str) -> Iterator[Any]:
        """Yield a style and those that it is based on."""
        for _ in range(_INHERITED):
            if (found := self.styles.get(style)) is not None:
                yield found
                style = value(found, "basedOn")

    def _inline(self, run: Any) -> str:
        sources = [run, *self._chain(value(run, "rPr/rStyle"))]
        for name in _GONE:
            mark = next((found for each in sources if (found := each.find(f"{{*}}rPr/{{*}}{name}")) is not None), None)
            if mark is not None and attribute(mark, "val") not in _OFF:
                return "del"
        lifted = _first(sources, "rPr/vertAlign")
        return _LIFTED.get(lifted, "span")

    def _block(self, paragraph: Any) -> str:
        """Return the element of a paragraph: a heading, an item of a list or neither, by its own properties and those
        of its styles.
        """
        style = value(paragraph, "pPr/pStyle")
        sources = [paragraph, *self._chain(style)]
        names = [value(each, "name").lower() for each in sources[1:]]
        outline = _first(sources, "pPr/outlineLvl")
        level = next(
            (match[1] for name in names if (match := _HEADING.fullmatch(name))), "1" if "title" in names else ""
        )
        if not level and outline in tuple("012345"):
            level = str(int(outline) + 1)
        number = _first(sources, "pPr/numPr/numId")
        if number in self.lists and (label := self._label(number, style, sources)):
            paragraph.set("label", label)
            return f"h{level}" if level else "li"
        return f"h{level}" if level else "p"

    def _label(self, number: str, style: str, sources: list[Any]) -> str:
        """Return the label before an item of a list."""
        abstract = value(self.lists[number], "abstractNumId")
        counts = self.counts.setdefault(abstract, {})
        if is_new := number not in self.levels:
            self.levels[number] = _levels(self.lists[number], self.abstracts.get(abstract))
        levels = self.levels[number]
        named = next((str(at) for at, level in levels.items() if style and level.style == style), "0")
        at = int(_first(sources, "pPr/numPr/ilvl") or named)
        if at not in levels:
            return ""
        if is_new and self.lists[number].find("{*}lvlOverride/{*}startOverride") is not None:
            counts.pop(at, None)
        return counted(counts, levels, at)


def _said(node: Any, tag: str) -> str:
    """Return what a reader sees of an element by itself."""
    if tag == "t":
        return (node.text or "").translate(_SIGNS)
    if tag == "sym":
        return chr(int(attribute(node, "char") or "20", 16)).translate(_SIGNS)
    if tag == "nary":
        return value(node, "naryPr/chr") or "∫"
    if tag == "checkbox" and tag_of(node.getparent()) == "ffdata":
        ticks = {tag_of(each): attribute(each, "val") not in _OFF for each in node}
        return CHECKED if ticks.get("checked", ticks.get("default")) else UNCHECKED
    return _TEXTS.get(tag, "")


def _first(sources: list[Any], path: str) -> str:
    """Return the value of a property of a paragraph or a run, else of its nearest style that has it."""
    return next(filter(None, (value(each, path) for each in sources)), "")


def _levels(instance: Any, abstract: Any) -> dict[int, Level]:
    """Return the levels of a list, by their depth."""
    levels = dict[int, Level]()
    for each in (*(() if abstract is None else abstract.iter("{*}lvl")), *instance.iter("{*}lvl")):
        kind, template, start = value(each, "numFmt"), value(each, "lvlText"), value(each, "start")
        template = (
            "-" if kind == "bullet" else template if each.find("{*}isLgl") is None else template.replace("%", "§")
        )
        levels[int(attribute(each, "ilvl"))] = Level(
            _KINDS.get(kind, "1"), template, int(start or 1), value(each, "pStyle")
        )
    for each in instance.iter("{*}lvlOverride"):
        at, start = int(attribute(each, "ilvl")), value(each, "startOverride")
        if at in levels and start:
            levels[at] = levels[at]._replace(start=int(start))
    return levels
