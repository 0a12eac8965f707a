"""Make the PDF and the DOCX of the demo from their sources in scripts/demo_documents; the same bytes on every run.

    pip install -e ".[demo-documents]"
    python scripts/make_demo_documents.py [FOLDER]

The sources are a small part of Markdown: headings, paragraphs on one line, lists, tables, --- for a new page.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "scripts" / "demo_documents"
DOCUMENTS = ROOT / "local_rag" / "diagnostics" / "demo" / "documents"
AUTHOR = "The local-rag authors"
WRITTEN = datetime(2026, 1, 1)
"""The date inside both files, whenever they are made."""

Kind = Literal["title", "heading", "paragraph", "item", "table", "page"]


@dataclass(frozen=True)
class Block:
    """A part of a source: its `text`, or the `rows` of a table with the header first."""

    kind: Kind
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


def blocks(source: str) -> Iterator[Block]:
    """The blocks of a source, in order."""
    rows: list[tuple[str, ...]] = []
    for line in [*source.splitlines(), ""]:
        if line.startswith("|"):
            rows.append(tuple(cell.strip() for cell in line.strip("|").split("|")))
            continue
        if rows:
            yield Block("table", rows=(rows[0], *rows[2:]))
            rows = []
        if line:
            yield _block(line)


def _block(line: str) -> Block:
    marks: tuple[tuple[str, Kind], ...] = (("# ", "title"), ("## ", "heading"), ("- ", "item"))
    if line == "---":
        return Block("page")
    for mark, kind in marks:
        if line.startswith(mark):
            return Block(kind, line.removeprefix(mark))
    return Block("paragraph", line)


# --- DOCX -----------------------------------------------------------------------------------------------------


def docx(source: str) -> bytes:
    """A Word document of the source, with Word's own styles for title, headings, lists and tables."""
    from docx import Document

    document: Any = Document()
    styles: dict[Kind, str] = {"title": "Heading 1", "heading": "Heading 2", "item": "List Bullet"}
    for block in blocks(source):
        if block.kind == "table":
            _docx_table(document, block.rows)
        elif block.kind == "page":
            document.add_page_break()
        else:
            document.add_paragraph(block.text, style=styles.get(block.kind, "Normal"))
    properties = document.core_properties
    properties.title = next(block.text for block in blocks(source) if block.kind == "title")
    properties.author = properties.last_modified_by = AUTHOR
    properties.created = properties.modified = WRITTEN
    properties.comments = ""
    properties.language = "en"
    _drop_thumbnail(document)
    written = io.BytesIO()
    document.save(written)
    return _with_fixed_times(written.getvalue())


def _docx_table(document: Any, rows: tuple[tuple[str, ...], ...]) -> None:
    table = document.add_table(rows=0, cols=len(rows[0]), style="Table Grid")
    for row in rows:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    for cell in table.rows[0].cells:
        cell.paragraphs[0].runs[0].bold = True
    document.add_paragraph()


def _drop_thumbnail(document: Any) -> None:
    """The picture of an empty page that python-docx puts into each document."""
    relations = document.part.package.rels
    for name in [name for name, relation in relations.items() if relation.reltype.endswith("/thumbnail")]:
        del relations[name]


def _with_fixed_times(data: bytes) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            fixed = zipfile.ZipInfo(entry.filename, WRITTEN.timetuple()[:6])
            fixed.compress_type = zipfile.ZIP_DEFLATED
            fixed.create_system = 3  # Unix, on Windows too
            new.writestr(fixed, old.read(entry))
    return written.getvalue()


# --- PDF ------------------------------------------------------------------------------------------------------


def pdf(source: str) -> bytes:
    """A PDF of the source on A5, with numbered pages; in the fonts of every reader, so that none is embedded."""
    from reportlab.lib.pagesizes import A5
    from reportlab.lib.units import cm
    from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate

    side, edge = 1.8 * cm, 1.9 * cm
    width, height = A5
    written = io.BytesIO()
    template = BaseDocTemplate(
        written,
        pagesize=A5,
        title=next(block.text for block in blocks(source) if block.kind == "title"),
        author=AUTHOR,
        subject="A handbook of self-correcting retrieval",
        creator="make_demo_documents.py",
        lang="en",
        invariant=1,
    )
    frame = Frame(side, edge, width - 2 * side, height - 2 * edge)
    # Drawn at the end, so that the number does not stand before the text of its page when a program reads it.
    template.addPageTemplates([PageTemplate("page", [frame], onPageEnd=_page_number)])
    template.build(list(_flowables(source)))
    return written.getvalue()


def _page_number(canvas: Any, template: Any) -> None:
    from reportlab.lib.units import cm

    canvas.setFont("Helvetica", 9)
    canvas.drawCentredString(template.pagesize[0] / 2, 1 * cm, str(canvas.getPageNumber()))


def _flowables(source: str) -> Iterator[Any]:
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import PageBreak, Paragraph

    body = ParagraphStyle("body", fontName="Times-Roman", fontSize=10.5, leading=14, spaceAfter=7)
    styles: dict[Kind, ParagraphStyle] = {
        "title": ParagraphStyle("title", fontName="Helvetica-Bold", fontSize=18, leading=23, spaceAfter=8),
        "heading": ParagraphStyle(
            "heading", fontName="Helvetica-Bold", fontSize=12, leading=16, spaceBefore=8, spaceAfter=4, keepWithNext=1
        ),
        "paragraph": body,
        "item": ParagraphStyle("item", parent=body, leftIndent=14, bulletIndent=3, spaceAfter=4),
    }
    for block in blocks(source):
        if block.kind == "table":
            yield _pdf_table(block.rows, body)
        elif block.kind == "page":
            yield PageBreak()
        else:
            yield Paragraph(block.text, styles[block.kind], bulletText="•" if block.kind == "item" else None)


def _pdf_table(rows: tuple[tuple[str, ...], ...], body: Any) -> Any:
    from reportlab.lib import colors
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.lib.units import cm
    from reportlab.platypus import Paragraph, Table

    cell = ParagraphStyle("cell", parent=body, fontSize=9.5, leading=12.5, spaceAfter=0)
    head = ParagraphStyle("head", parent=cell, fontName="Times-Bold")
    table = Table(
        [[Paragraph(text, cell if number else head) for text in row] for number, row in enumerate(rows)],
        colWidths=[2.3 * cm, 7 * cm, 1.8 * cm],
        spaceBefore=6,
        spaceAfter=12,
    )
    table.setStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.grey), ("VALIGN", (0, 0), (-1, -1), "TOP")])
    return table


MADE: tuple[tuple[str, str, Callable[[str], bytes]], ...] = (
    ("adaptive-rag.md", "adaptive-rag.docx", docx),
    ("rag-evaluation.md", "rag-evaluation.pdf", pdf),
)
"""Source, document and what makes the one from the other."""


def make(folder: Path) -> list[Path]:
    """Write every generated document into an existing folder and return their paths."""
    paths = []
    for source, name, maker in MADE:
        path = folder / name
        path.write_bytes(maker((SOURCES / source).read_text(encoding="utf-8")))
        paths.append(path)
    return paths


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0]) if arguments else DOCUMENTS
    try:
        paths = make(folder)
    except ImportError as error:
        print(f"{error.name} is not installed\n  try: pip install -e '.[demo-documents]'", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"cannot write the documents: {error}", file=sys.stderr)
        return 1
    for path in paths:
        print(f"{path}  {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
