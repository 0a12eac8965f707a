"""Values filled into a page of a PDF, notes on it, and the files that are attached to it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from local_rag.index.parse.pdf_text import PageText

if TYPE_CHECKING:
    from pypdfium2 import PdfAttachment, PdfDocument, PdfPage

MOST_FIELDS = 10_000
"""Fields and notes of a file that are read."""

_LONGEST_VALUE = 100_000
"""Bytes of a value or a note that are read: pdfium gives UTF-16."""

_UNSHOWN = 0x02 | 0x20
"""Flags of annotations that no reader sees: hidden, no view (ISO 32000-1, table 165)."""

_PASSWORD = 1 << 13
"""The flag of a field that hides what is typed (table 228)."""


@dataclass
class Filled:
    """A reader of fields and notes, up to MOST_FIELDS of a file: `unread` counts those behind them."""

    file: PdfDocument
    unread: int = 0
    attached: list[PdfAttachment] = field(default_factory=list)
    _read: int = 0

    def __post_init__(self) -> None:
        self.file.init_forms()  # does nothing where there is no form

    def on(self, page: PdfPage, text: PageText) -> Iterator[str]:
        """Write what is filled in behind its label in the text; yield a line for what has none, and for each note."""
        from pypdfium2 import PdfAttachment, raw

        count = raw.FPDFPage_GetAnnotCount(page.raw)
        taken = min(count, MOST_FIELDS - self._read)
        self._read, self.unread = self._read + taken, self.unread + count - taken
        for number in range(taken):
            note = raw.FPDFPage_GetAnnot(page.raw, number)
            kind = raw.FPDFAnnot_GetSubtype(note)
            if kind in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP) or raw.FPDFAnnot_GetFlags(note) & _UNSHOWN:
                pass
            elif kind == raw.FPDF_ANNOT_WIDGET:
                yield from self._field(note, text) if self.file.formenv else ()
            else:
                if kind == raw.FPDF_ANNOT_STRIKEOUT:
                    _strike(note, text)
                if kind == raw.FPDF_ANNOT_FILEATTACHMENT and (attached := raw.FPDFAnnot_GetFileAttachment(note)):
                    self.attached.append(PdfAttachment(attached, self.file))
                said, author = (_said(raw.FPDFAnnot_GetStringValue, note, name) for name in (b"Contents", b"T"))
                if said:
                    yield f"Note by {author}: {said}" if author else f"Note: {said}"
            raw.FPDFPage_CloseAnnot(note)

    def _field(self, note: Any, text: PageText) -> Iterator[str]:
        from pypdfium2 import raw

        form = self.file.formenv.raw
        kind = raw.FPDFAnnot_GetFormFieldType(form, note)
        is_box = kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)
        if is_box:
            value = "☒" if raw.FPDFAnnot_IsChecked(form, note) else "☐"
        elif kind in (raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
            options = range(min(raw.FPDFAnnot_GetOptionCount(form, note), MOST_FIELDS))
            chosen = [number for number in options if raw.FPDFAnnot_IsOptionSelected(form, note, number)]
            labels = [_said(raw.FPDFAnnot_GetOptionLabel, form, note, number) for number in chosen]
            value = ", ".join(labels) or _said(raw.FPDFAnnot_GetFormFieldValue, form, note)
        elif kind == raw.FPDF_FORMFIELD_TEXTFIELD and not raw.FPDFAnnot_GetFormFieldFlags(form, note) & _PASSWORD:
            value = _said(raw.FPDFAnnot_GetFormFieldValue, form, note)
        else:
            return
        sides = raw.FS_RECTF()
        raw.FPDFAnnot_GetRect(note, ctypes.byref(sides))
        if value and not _write(text, sides, value, is_box=is_box):
            names = (raw.FPDFAnnot_GetFormFieldAlternateName, raw.FPDFAnnot_GetFormFieldName)
            yield f"{next(filter(None, (_said(name, form, note) for name in names)), 'Field')}: {value}"


def _said(get: Callable[..., int], *which: Any) -> str:
    """Return a text that pdfium writes into a buffer, on one line."""
    buffer = ctypes.create_string_buffer(min(get(*which, None, 0), _LONGEST_VALUE))
    get(*which, ctypes.cast(buffer, get.argtypes[-2]), len(buffer))  # type: ignore[attr-defined]
    return " ".join(buffer.raw.decode("utf-16-le", "replace").replace("\0", "").split())


def _strike(note: Any, text: PageText) -> None:
    from pypdfium2 import raw

    corners = raw.FS_QUADPOINTSF()
    for number in range(min(raw.FPDFAnnot_CountAttachmentPoints(note), MOST_FIELDS)):
        raw.FPDFAnnot_GetAttachmentPoints(note, number, ctypes.byref(corners))
        text.strike(min(corners.x1, corners.x3), max(corners.x2, corners.x4), (corners.y1 + corners.y3) / 2)


def _write(text: PageText, sides: Any, value: str, *, is_box: bool) -> bool:
    """Write a value behind the text to the left of its field, else behind the line above, and a box before the text to
    its right if this is nearer.

    Return False where nothing is near.
    """
    em, left, right = text.em, list[tuple[float, int]](), list[tuple[float, int]]()
    for line in text.lines_at(sides.bottom - 0.3 * em, sides.top):
        at = text.before(line, sides.left + 0.3 * em)
        if at > line.start:
            left.append((sides.left - text.origin(at - 1)[0] - 0.5 * em, at - 1))
        at = text.before(line, sides.right - 0.3 * em)
        if is_box and at < line.end:
            right.append((text.origin(at)[0] - sides.right, at))
    if not (left or right):
        above = text.lines_at(sides.top, sides.top + 1.5 * em)
        left = [(line.y, line.end - 1) for line in above if line.x < sides.right and line.last > sides.left - em]
    if right and (not left or min(right) <= min(left)):
        text.insert(min(right)[1], before=f"{value} ")
    elif left:
        text.insert(min(left)[1], behind=f" {value} ")
    return bool(left or right)
