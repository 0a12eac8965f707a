"""Pages that are pictures: images as files of one page, and the lines that OCR reads on a page, with their places.

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
from itertools import groupby, starmap
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from local_rag.core import child_process
from local_rag.core.documents import LoadedDocument, ReadLine
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.parsed_file import ParsedFile, clean
from local_rag.index.parse.pdf import full_line, goes_on
from local_rag.index.parse.pdf_page import IMAGES, drawn, opened_image
from local_rag.index.parse.properties import iso_date
from local_rag.text.names import name_date

if TYPE_CHECKING:
    from PIL.Image import Image

OCR_DPI = 200
"""Dots per inch of a page that is read: the text of books and letters is 20 to 30 pixels high then."""

PAGE_SECONDS = 120.0
"""Seconds that a page may take; the densest of those tried takes 5 on two cores."""

OCR_MEMORY = 8 << 30
"""Bytes of address space that reading may take: the first page maps 2.7 GB, any other 0.2 more; 1.5 are used."""

PAGES = 16
"""Pages after which a fresh worker reads on: OpenVINO keeps what it has prepared for each size of a line."""

_LONG_LINE = 0.25
"""The least share of the width of its text that a line of a column has; the cells of most tables are shorter."""

_COLUMN = 3
"""Long lines on both sides of a gap that make columns of them."""


def missing(languages: Sequence[str] = ()) -> str:
    """Return the command that installs what reads pages, in these languages if some are named; "" where it is
    installed.
    """
    if shutil.which("tesseract") or (find_spec("rapidocr") and not languages):
        return ""
    return "apt install tesseract-ocr" if languages else "pip install 'local-rag[ocr]'"


def to_read(command: str) -> str:
    """Return what to type so that a command that indexes reads pictures, too."""
    return "   then   ".join(filter(None, [missing(), f"{command} --ocr"]))


def load_image(path: Path) -> ParsedFile:
    """Read an image: one page, which waits for OCR. Raises FileSkipped for what is none, or is too large."""
    with opened_image(path) as image:
        pictures = getattr(image, "n_frames", 1)
    more = (f"only the first of its {pictures} pictures is read",) if pictures > 1 else ()
    return ParsedFile((), more, scans=(1,))


READERS = dict.fromkeys(IMAGES, load_image)
"""Loaders of images, by suffix: images are indexed only where OCR is asked for."""


class _Line(NamedTuple):
    """A line as OCR finds it, a cell of a table too: its sides on the page set upright, and its place as it is.

    All are in pixels; the place is left, top, width and height.
    """

    left: float
    top: float
    right: float
    bottom: float
    place: tuple[float, float, float, float]
    text: str
    confidence: float


def read_page(path: Path, number: int, languages: Sequence[str]) -> LoadedDocument:
    """Return the text that OCR reads on a page, counted from 1, of a PDF or an image.

    Raises FileSkipped, and what the libraries raise.
    """
    picture, _ = drawn(path, number, OCR_DPI)
    found = _by_tesseract(picture, languages) if languages or not find_spec("rapidocr") else _by_rapidocr(picture)
    text, lines = _written(found, picture.size)
    return LoadedDocument(text, title=path.name, page=number, date=iso_date(name_date(path.name)), lines=lines)


# --- the two programs


def _by_rapidocr(picture: Image) -> list[_Line]:
    import numpy as np
    from rapidocr.inference_engine.openvino.main import OpenVINOError

    try:
        result = _rapidocr()(np.asarray(picture)[:, :, ::-1])
    except OpenVINOError as error:
        raise MemoryError from error  # pictures of this size are read where there is enough of it
    if not result.txts:
        return []
    corners = result.boxes  # (n, 4, 2), clockwise from the upper left
    edges = corners[:, 1] - corners[:, 0]
    tilt = float(np.median(edges[:, 1] / np.maximum(edges[:, 0], 1)))
    x, y = (corners @ np.array([[1, -tilt], [tilt, 1]])).transpose(2, 0, 1)
    middle, half = y.mean(1), np.linalg.norm(corners[:, 3] - corners[:, 0], axis=1) / 2
    sides, low = np.stack([x.min(1), middle - half, x.max(1), middle + half]), corners.min(1)
    places = np.hstack([low, corners.max(1) - low])
    told: Any = zip(*sides.tolist(), places.tolist(), map(_plain, result.txts), result.scores, strict=True)
    return list(starmap(_Line, told))


@cache
def _rapidocr() -> Any:
    """Return the reader with the models of its package, by their paths: by their names it would download others."""
    import rapidocr

    child_process.limit_memory(OCR_MEMORY)
    models = Path(rapidocr.__file__).parent / "models"
    options: dict[str, Any] = {"Global.log_level": "critical", "Global.max_side_len": 2400}
    for part, model in zip(("Det", "Cls", "Rec"), _MODELS, strict=True):
        options |= {f"{part}.engine_type": rapidocr.EngineType.OPENVINO, f"{part}.model_path": f"{models / model}.onnx"}
    return rapidocr.RapidOCR(params=options)


_MODELS = "PP-OCRv6_det_small ch_ppocr_mobile_v2.0_cls_mobile PP-OCRv6_rec_small".split()
"""The models that find lines, turn those that stand on their head, and read them."""


def _by_tesseract(picture: Image, languages: Sequence[str]) -> list[_Line]:
    """Return the lines in tesseract's table of lines (level 4) and their words
    (https://tesseract-ocr.github.io/tessdoc/Command-Line-Usage.html).
    """
    png = io.BytesIO()
    picture.save(png, "PNG", dpi=(OCR_DPI, OCR_DPI))
    command = ["tesseract", "-", "-", "-l", "+".join(languages or ("eng",)), "tsv"]
    done = child_process.run(command, png.getvalue(), PAGE_SECONDS, os.environ)
    if done.code != 0:
        said = done.errors.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise FileSkipped(f"is not read by tesseract: {said[-1]}", passing=True)
    table = csv.DictReader(done.output.decode(errors="replace").splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    rows = [row for row in table if row["level"] in ("4", "5")]
    lines = []
    for _, (whole, *parts) in groupby(rows, key=itemgetter("block_num", "par_num", "line_num")):
        left, top, width, height = (float(whole[side]) for side in ("left", "top", "width", "height"))
        text = _plain(" ".join(part["text"] for part in parts))
        if text:
            sides, place = (left, top, left + width, top + height), (left, top, width, height)
            lines.append(_Line(*sides, place, text, fmean(float(part["conf"]) for part in parts) / 100))
    return lines


def _plain(text: str) -> str:
    return " ".join(clean(text).split())


# --- the order of reading


def _written(found: Sequence[_Line], size: tuple[int, int]) -> tuple[str, tuple[ReadLine, ...]]:
    """Return the text of a page in paragraphs, and its lines in the order of reading."""
    rows = _rows(found)
    plain = [" ".join(line.text for line in row) for row in rows]
    full = full_line(list(map(len, plain)))
    text, lines = "", list[ReadLine]()
    for row, said, after in zip(rows, plain, [*plain[1:], ""], strict=False):
        for line in row:
            start, text = len(text), f"{text}{line.text} "
            shares = (round(side / whole, 4) for side, whole in zip(line.place, size * 2, strict=True))
            place: Any = (*shares, round(float(line.confidence), 3))
            lines.append(ReadLine(start, len(text) - 1, *place))
        if said.endswith("-") and after[:1].islower():
            text = text[:-2]  # a word that goes on in the next line
            lines[-1] = lines[-1]._replace(end=len(text))
        elif not (after and goes_on(said, after, full)):
            text = text[:-1] + ("\n\n" if said[-1:] in ".!?:" else "\n")
    return text.rstrip(), tuple(lines)


def _rows(lines: Sequence[_Line]) -> list[list[_Line]]:
    """Return the rows of a page, each from left to right: column by column between the lines that cross the gap."""
    gap, rows, band = _gap(lines), list[list[_Line]](), list[_Line]()
    if gap is None:
        for line in sorted(lines, key=lambda line: line.top + line.bottom):
            last = rows[-1][-1] if rows else line
            beside = line.left >= last.right or line.right <= last.left
            if beside and line.top + line.bottom < 2 * last.bottom:
                rows[-1].append(line)
            else:
                rows.append([line])
        return [sorted(row) for row in rows]
    for each in (*sorted(lines, key=lambda line: line.top), None):
        if each and not each.left <= gap < each.right:
            band.append(each)
            continue
        for side in (True, False):
            rows += _rows([line for line in band if (line.right <= gap) is side])
        rows += [[each]] if each else []
        band = []
    return rows


def _gap(lines: Sequence[_Line]) -> float | None:
    """Return where the gap between two columns begins: as many as can be of their long lines are on either side of
    it.
    """
    width = max((line.right for line in lines), default=0.0) - min((line.left for line in lines), default=0.0)
    long = [line for line in lines if line.right - line.left >= _LONG_LINE * width]

    def beside(gap: float) -> int:
        before, behind = sum(line.right <= gap for line in long), sum(line.left > gap for line in long)
        return before + behind if min(before, behind) >= _COLUMN else 0

    best = max((line.right for line in long), key=beside, default=0.0)
    return best if beside(best) else None
