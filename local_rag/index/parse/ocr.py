"""Pages that are pictures: images as files of one page, and what OCR reads on a page, line by line, with their places.

rapidocr reads by itself, tesseract where languages are named or it alone is installed. All of it runs in the worker.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from local_rag.core import child_process
from local_rag.core.documents import LoadedDocument, ReadLine
from local_rag.core.errors import FileSkipped, UsageError
from local_rag.index.names import name_date
from local_rag.index.parse.parsed_file import ParsedFile, clean
from local_rag.index.parse.pdf import full_line, goes_on
from local_rag.index.parse.pdf_page import drawn, opened_image
from local_rag.index.parse.properties import iso_date

if TYPE_CHECKING:
    from PIL.Image import Image

DPI = 200
"""Of a page that is read: the text of books and letters is 20 to 30 pixels high then."""

SECONDS = 120.0
"""That a page may take; the densest of those tried takes 5 on two cores."""

MEMORY = 8 << 30
"""Bytes of address space that reading may take: the first page maps 2.7 GB, any other 0.2 more; 1.5 are used."""

PAGES = 16
"""Pages after which a fresh worker reads on: OpenVINO keeps what it has prepared for each size of a line."""

INSTALL = "pip install 'local-rag[ocr]'"

_LONG = 0.25
"""Share of the width of its text that a line of a column has at least; the cells of most tables are shorter."""

_COLUMN = 3
"""Such lines on both sides of a gap that make columns of them."""

Found = tuple[Any, Sequence[str], Sequence[float]]
"""The lines of a picture in any order: corners (n, 4, 2) in pixels, clockwise from the upper left; texts; scores."""


def is_installed() -> bool:
    """Whether anything here reads pictures."""
    return bool(find_spec("rapidocr") or shutil.which("tesseract"))


def must_be_installed(languages: Sequence[str]) -> None:
    """Raises UsageError where nothing can read pages in these languages of tesseract, or in none that are named."""
    if languages and not shutil.which("tesseract"):
        named = ", ".join(languages)
        raise UsageError(
            f"ocr.languages ({named}) are read by tesseract, which is not installed", hint="apt install tesseract-ocr"
        )
    if not is_installed():
        raise UsageError("OCR is not installed", hint=f"{INSTALL}   then the same command again")


def load_image(path: Path) -> ParsedFile:
    """An image: one page, which waits for OCR. Raises FileSkipped for what is none, or is too large."""
    with opened_image(path) as image:
        pictures = getattr(image, "n_frames", 1)
    more = (f"only the first of its {pictures} pictures is read",) if pictures > 1 else ()
    return ParsedFile((), more, scans=(1,))


def read_page(path: Path, number: int, languages: Sequence[str]) -> LoadedDocument:
    """What OCR reads on a page, counted from 1, of a PDF or an image. Raises FileSkipped, and what the libraries do."""
    picture, _ = drawn(path, number, DPI)
    found = _by_tesseract(picture, languages) if languages or not find_spec("rapidocr") else _by_rapidocr(picture)
    text, lines = _written(found, picture.size) if len(found[1]) else ("", ())
    return LoadedDocument(text, title=path.name, page=number, date=iso_date(name_date(path.name)), lines=lines)


# --- the two programs


def _by_rapidocr(picture: Image) -> Found:
    import numpy as np
    from rapidocr.inference_engine.openvino.main import OpenVINOError

    try:
        result = _rapidocr()(np.asarray(picture)[:, :, ::-1])
    except OpenVINOError as error:
        raise MemoryError from error  # pictures of this size are read where there is enough of it
    return (result.boxes, result.txts, result.scores) if result.txts else ([], (), ())


@cache
def _rapidocr() -> Any:
    """The reader with the models of its package, by their paths: by their names it would download others."""
    import rapidocr

    child_process.limit_memory(MEMORY)
    models = Path(rapidocr.__file__).parent / "models"
    files = {
        "Det": "PP-OCRv6_det_small.onnx",
        "Cls": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
        "Rec": "PP-OCRv6_rec_small.onnx",
    }
    options: dict[str, Any] = {"Global.log_level": "critical", "Global.max_side_len": 2400}
    for part, file in files.items():
        options |= {f"{part}.engine_type": rapidocr.EngineType.OPENVINO, f"{part}.model_path": str(models / file)}
    return rapidocr.RapidOCR(params=options)


def _by_tesseract(picture: Image, languages: Sequence[str]) -> Found:
    """By its table of words (https://tesseract-ocr.github.io/tessdoc/Command-Line-Usage.html, TSV output)."""
    png = io.BytesIO()
    picture.save(png, "PNG", dpi=(DPI, DPI))
    command = ["tesseract", "-", "-", "-l", "+".join(languages or ("eng",)), "tsv"]
    done = child_process.run(command, png.getvalue(), SECONDS, os.environ)
    if done.code:
        said = done.errors.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise FileSkipped(f"tesseract failed: {said[-1]}", passing=True)
    table = csv.DictReader(done.output.decode(errors="replace").splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    words = [row for row in table if row["level"] == "5" and row["text"].strip()]
    corners, texts, confidences = [], [], []
    for _, group in groupby(words, key=itemgetter("block_num", "par_num", "line_num")):
        line = list(group)
        sides = [[float(word[side]) for side in ("left", "top", "width", "height")] for word in line]
        left, top = (min(side) for side in list(zip(*sides, strict=True))[:2])
        right, bottom = max(x + width for x, _, width, _ in sides), max(y + height for _, y, _, height in sides)
        corners.append([(left, top), (right, top), (right, bottom), (left, bottom)])
        texts.append(" ".join(word["text"] for word in line))
        confidences.append(sum(float(word["conf"]) for word in line) / len(line) / 100)
    return corners, texts, confidences


# --- the order of reading


class _Piece(NamedTuple):
    """A line as OCR finds it, a cell of a table too: its sides on the page set upright, in pixels, and its number."""

    left: float
    top: float
    right: float
    bottom: float
    number: int


def _written(found: Found, size: tuple[int, int]) -> tuple[str, tuple[ReadLine, ...]]:
    """The text of a page in paragraphs, and its lines in the order of reading."""
    import numpy as np

    corners, texts = np.asarray(found[0], float), [" ".join(clean(text).split()) for text in found[1]]
    rows = _rows(_upright(corners))
    plain = [" ".join(texts[piece.number] for piece in row) for row in rows]
    full = full_line([len(line) for line in plain])
    low, high = (np.clip(side / size, 0, 1).round(4) for side in (corners.min(1), corners.max(1)))
    text, lines = "", list[ReadLine]()
    for row, line, after in zip(rows, plain, [*plain[1:], ""], strict=True):
        for piece in row:
            at, start = piece.number, len(text)
            text += f"{texts[at]} "
            place = (*low[at].tolist(), *(high[at] - low[at]).round(4).tolist(), round(float(found[2][at]), 3))
            lines.append(ReadLine(start, len(text) - 1, *place))
        if line.endswith("-") and after[:1].islower():
            text = text[:-2]  # a word that goes on in the next line
            lines[-1] = lines[-1]._replace(end=len(text))
        elif not (after and goes_on(line, after, full)):
            text = f"{text[:-1]}\n" if line[-1:] not in ".!?:" else f"{text[:-1]}\n\n"
    return text.rstrip(), tuple(lines)


def _upright(corners: Any) -> list[_Piece]:
    """The lines on a page that is turned back by the angle that most of them have."""
    import numpy as np

    edges = corners[:, 1] - corners[:, 0]
    tilt = float(np.median(edges[:, 1] / np.maximum(edges[:, 0], 1)))
    turned = corners @ np.array([[1, -tilt], [tilt, 1]])
    sides = np.hstack([turned.min(1), turned.max(1)]).tolist()
    return [_Piece(left, top, right, bottom, at) for at, (left, top, right, bottom) in enumerate(sides)]


def _rows(pieces: Sequence[_Piece]) -> list[list[_Piece]]:
    """The rows of a page, each from left to right: column by column between the lines that cross the gap."""
    gap, rows = _gap(pieces), list[list[_Piece]]()
    if gap is None:
        for piece in sorted(pieces, key=lambda piece: piece.top + piece.bottom):
            if rows and piece.top + piece.bottom < 2 * rows[-1][0].bottom:
                rows[-1].append(piece)
            else:
                rows.append([piece])
        return [sorted(row) for row in rows]
    band = list[_Piece]()
    for each in (*sorted(pieces, key=lambda piece: piece.top), None):
        if each and not each.left <= gap < each.right:
            band.append(each)
            continue
        for side in (True, False):
            rows += _rows([piece for piece in band if (piece.right <= gap) is side])
        rows += [[each]] if each else []
        band = []
    return rows


def _gap(pieces: Sequence[_Piece]) -> float | None:
    """Where the gap between two columns begins: the most of their long lines that can be are on either side of it."""
    if not pieces:
        return None
    long = _LONG * (max(piece.right for piece in pieces) - min(piece.left for piece in pieces))
    lines = [piece for piece in pieces if piece.right - piece.left >= long]

    def beside(gap: float) -> int:
        return min(sum(line.right <= gap for line in lines), sum(line.left > gap for line in lines))

    best = max((line.right for line in lines), key=beside, default=0.0)
    return best if beside(best) >= _COLUMN else None
