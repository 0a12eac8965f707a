"""What is read on pictures of pages: order and places of the lines; and images that are none."""

import io
import struct
import zlib

import pytest
from PIL import Image
from pypdf import PdfReader, PdfWriter
from support.hostile import make_pdf, make_zip
from support.marks import posix
from support.scans import A4, drawn, scanned, stand_in, table

from local_rag.config.settings import Settings
from local_rag.core.errors import FileSkipped
from local_rag.core.progress import Silent
from local_rag.index.parse import ocr, pdf_page
from local_rag.index.parse.loaders import load, names_of
from local_rag.runtime.indexing import NothingToIndex, Request, index_files

LEFT = ["The lamp of the tower is lit", "at dusk by the keeper of the", "rock, who also winds the"]
RIGHT = ["Ships pass the rock at night", "and look for its light, seen", "from eighteen miles away."]
COLUMNS = [(100, 80, 96, "A LIGHTHOUSE AND ALL THE SHIPS THAT PASS IT BY NIGHT AND BY DAY")] + [
    (left, 200 + 30 * row, 96, line)
    for row, pair in enumerate(zip(LEFT, RIGHT, strict=True))
    for left, line in zip((100, 650), pair, strict=True)
]
CELLS = [(100, 100, 96, "Oil"), (700, 104, 96, "40 litres"), (100, 140, 96, "Wick"), (700, 136, 96, "12 metres")]


@pytest.fixture
def says(tmp_path, monkeypatch):
    """Gives the document of a page on which tesseract reads these lines."""

    def read(*lines):
        stand_in(tmp_path / "bin", monkeypatch, table(*lines))
        return ocr.read_page(scanned(tmp_path / "2024-03-05 log.pdf", [""]), 1, ("eng", "rus"))

    return read


@posix
@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (COLUMNS, [" ".join([COLUMNS[0][3], *LEFT, *RIGHT])]),
        (CELLS, ["Oil 40 litres", "Wick 12 metres"]),
        (
            [(100, 100, 90, "The keeper of the old tower winds the whole clock-"), (100, 130, 90, "work.")],
            ["The keeper of the old tower winds the whole clockwork."],
        ),
        ([], []),
    ],
    ids=["columns under a title", "a table", "a word cut in two", "nothing"],
)
def test_lines_are_put_in_the_order_of_reading(says, lines, text):
    assert [line for line in says(*lines).text.split("\n") if line] == text


@posix
def test_a_line_keeps_its_place_and_how_sure_tesseract_is_of_it(says, tmp_path):
    document = says((124, 175, 87, "Oil 40"), (124, 235, 61, "Wick"))
    first, second = document.lines
    width, height = A4[0] * 200 / 150, A4[1] * 200 / 150
    assert [document.text[line.start : line.end] for line in document.lines] == ["Oil 40", "Wick"]
    assert first[2:6] == pytest.approx((124 / width, 175 / height, 60 / width, 20 / height), abs=1e-3)
    assert (first.confidence, second.confidence) == (0.87, 0.61)
    assert (document.page, document.date) == (1, "2024-03-05")
    assert (tmp_path / "bin" / "asked").read_text() == "- - -l eng+rus tsv\n"


def test_what_is_missing_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    assert (ocr.missing(["rus"]), ocr.missing()) == ("apt install tesseract-ocr", "")
    monkeypatch.setattr(ocr, "find_spec", lambda name: None)
    assert ocr.missing() == "pip install 'local-rag[ocr]'"
    drawn("A photograph").save(tmp_path / "photo.png")
    with pytest.raises(NothingToIndex, match="only 1 file of other kinds") as error:
        index_files(Settings.load(), Request([tmp_path]), Silent())
    assert error.value.hint == "pip install 'local-rag[ocr]'   then   local-rag index FOLDER --ocr"


def test_the_stamp_of_a_scanner_is_no_text_layer(tmp_path):
    """It is kept; the picture beneath it waits for OCR. A page with a picture and more text does not."""
    written, scan = PdfWriter(), scanned(tmp_path / "scan.pdf", ["The lamp."])
    for text in ("Scanned at noon", "The keeper lights the lamp at dusk and sleeps by day."):
        page = written.add_page(PdfReader(scan).pages[0])
        page.merge_page(PdfReader(make_pdf(tmp_path / "text.pdf", [text])).pages[0])
    written.write(tmp_path / "stamped.pdf")
    file = load(tmp_path / "stamped.pdf")
    assert (file.scans, [document.page for document in file.documents]) == ((1,), [1, 2])


# --- images


def image(path, kind, *, mode="RGB", frames=1, **options):
    more = [drawn(f"Page {number}").convert(mode) for number in range(1, frames)]
    drawn("The lamp.").convert(mode).save(
        path, kind, **(options | ({"save_all": True, "append_images": more} if more else {}))
    )


def huge(path, width, height):
    """The head of a PNG of that size."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head)) + b"\0\0\0\1IDAT\0"
    )


HOSTILE = {
    "huge.png": (lambda path: huge(path, 25_000, 20_000), "has more than 100 megapixels"),
    "zip.png": (lambda path: make_zip(path, {"a.txt": "a"}), "is no image of a kind that is read"),
}


@pytest.mark.parametrize(("name", "made"), HOSTILE.items())
def test_what_is_no_image_is_skipped(tmp_path, name, made):
    make, why = made
    make(tmp_path / name)
    with pytest.raises(FileSkipped, match=why):
        load(tmp_path / name, names_of(dict.fromkeys(pdf_page.IMAGES, ocr.load_image)))


@pytest.mark.parametrize(
    ("name", "options", "warnings"),
    [
        ("a.tiff", {"kind": "TIFF", "frames": 3}, ("only the first of its 3 pictures is read",)),
        ("cmyk.jpg", {"kind": "JPEG", "mode": "CMYK"}, ()),
        ("a.BMP", {"kind": "BMP", "mode": "1"}, ()),
    ],
)
def test_an_image_is_one_page(tmp_path, name, options, warnings):
    image(tmp_path / name, **options)
    file = ocr.load_image(tmp_path / name)
    assert (file.scans, file.warnings) == ((1,), warnings)
    assert pdf_page.picture(tmp_path / name, 1).png.startswith(b"\x89PNG")


def test_a_photograph_is_turned_as_it_says(tmp_path):
    turned = Image.Exif()
    turned[0x0112] = 6
    image(tmp_path / "a.jpg", "JPEG", exif=turned)
    shown = pdf_page.picture(tmp_path / "a.jpg", 1)
    assert (shown.height, shown.width) == A4 and Image.open(io.BytesIO(shown.png)).mode == "RGB"
