import ctypes
import struct
import zlib

import pypdfium2
import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import RectangleObject
from pypdfium2 import raw
from support.hostile import make_pdf

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.pdf import load_pdf
from local_rag.index.parse.pdf_page import DPI, MAX_PIXELS, MAX_SIDE, picture, placed

LEASE = """Rental contract
The notice period is three months to the end of a quar-
ter. The landlord repairs the roof. The deposit is 1,200 euros.
The landlord repairs the roof."""


@pytest.fixture
def lease(tmp_path):
    return make_pdf(tmp_path / "lease.pdf", ["First page", LEASE])


def stored(path, page):
    return next(document.text for document in load_pdf(path).documents if document.page == page)


def spot(path, page, quote, nth=0):
    """Where the quote stands in the stored text, the n-th time."""
    text, start = stored(path, page), -1
    for _ in range(nth + 1):
        start = text.index(quote, start + 1)
    return text, start, start + len(quote)


def text_under(path, page, rectangles):
    """What pdfium reads where the rectangles are, line by line."""
    fine, lines = 1_000_000, []
    shown = pypdfium2.PdfDocument(path)[page - 1]
    for x, y, width, height in rectangles:
        corners = []
        for across, down in ((x, y), (x + width, y + height)):
            place = ctypes.c_double(), ctypes.c_double()
            raw.FPDF_DeviceToPage(shown, 0, 0, fine, fine, 0, round(across * fine), round(down * fine), *place)
            corners.append([value.value for value in place])
        (x1, y1), (x2, y2) = corners
        sides = (min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
        lines.append(shown.get_textpage().get_text_bounded(*sides).strip().replace("\x02", "-"))
    return lines


def changed(path, change):
    """The same file after `change(page)` of pypdf for its second page."""
    writer = PdfWriter(clone_from=PdfReader(path))
    change(writer.pages[1])
    writer.write(path)


def test_a_quote_over_two_lines_has_a_rectangle_on_each(lease):
    text, start, end = spot(lease, 2, "three months to the end of a quarter.")
    found = placed(lease, 2, text, start, end)
    assert text_under(lease, 2, found.rectangles) == ["three months to the end of a quar-", "ter."]
    (x, y, width, height), below = found.rectangles
    assert 0 < x < x + width < 1 and 0 < y < y + height <= below[1] + 0.005
    assert found.pages == 2 and found.width == 1190 and found.height == 1684


def test_what_stands_twice_is_placed_by_its_order(lease):
    first = placed(lease, 2, *spot(lease, 2, "The landlord repairs the roof.")).rectangles
    second = placed(lease, 2, *spot(lease, 2, "The landlord repairs the roof.", nth=1)).rectangles
    assert text_under(lease, 2, first) == text_under(lease, 2, second) == ["The landlord repairs the roof."]
    assert second[0][1] > first[0][1]


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_on_a_turned_and_cropped_page_the_rectangles_turn_with_it(lease, turn):
    quote = spot(lease, 2, "The deposit is 1,200 euros.")
    changed(lease, lambda page: (page.rotate(turn), setattr(page, "cropbox", RectangleObject((50, 500, 500, 800)))))
    found = placed(lease, 2, *quote)
    assert text_under(lease, 2, found.rectangles) == ["The deposit is 1,200 euros."]
    (_, _, width, height) = found.rectangles[0]
    across, down = width * found.width, height * found.height
    assert (across < down) == (turn != 180)
    drawn = picture(lease, 2)
    assert (drawn.width, drawn.height) == (found.width, found.height)


def test_in_a_changed_file_a_quote_is_placed_where_it_is_certain(tmp_path, lease):
    quote = spot(lease, 2, "The deposit is 1,200 euros.")
    make_pdf(lease, ["First page", f"A new line\n{LEASE}"])
    assert text_under(lease, 2, placed(lease, 2, *quote).rectangles) == ["The deposit is 1,200 euros."]
    make_pdf(lease, ["First page", "Another text"])
    assert placed(lease, 2, *quote).rectangles == ()


def test_of_two_equal_places_the_context_decides_and_without_one_nothing_is_marked(lease):
    second = spot(lease, 2, "The landlord repairs the roof.", nth=1)
    make_pdf(lease, ["First page", f"A new line\n{LEASE}"])
    found = placed(lease, 2, *second).rectangles
    assert text_under(lease, 2, found) == ["The landlord repairs the roof."]
    assert found[0][1] > placed(lease, 2, *spot(lease, 2, "The deposit")).rectangles[0][1]
    alike = ("x", 0, 1)
    make_pdf(lease, ["First page", "x y x y x"])
    assert placed(lease, 2, *alike).rectangles == ()


def test_marks_without_a_letter_are_not_placed(lease):
    text = stored(lease, 2)
    assert placed(lease, 2, text, 0, 0).rectangles == ()
    assert placed(lease, 2, text, text.index(". The"), text.index(". The") + 2).rectangles == ()


def test_a_picture_is_a_png_of_the_page(lease):
    drawn = picture(lease, 2)
    assert drawn.png.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", drawn.png[16:24]) == (drawn.width, drawn.height) == (1190, 1684)
    length = struct.unpack(">I", drawn.png[33:37])[0]
    rows = zlib.decompress(drawn.png[41 : 41 + length])
    assert len(rows) == drawn.height * (3 * drawn.width + 1)
    x, y, width, height = placed(lease, 2, *spot(lease, 2, "The deposit is 1,200 euros.")).rectangles[0]
    row = rows[int((y + height / 2) * drawn.height) * (3 * drawn.width + 1) + 1 :][: 3 * drawn.width]
    inside = row[3 * int(x * drawn.width) : 3 * int((x + width) * drawn.width)]
    assert min(inside) < 128, "there is ink under the rectangle"


@pytest.mark.parametrize("sides", [(14_400, 14_400), (14_400, 3), (3, 14_400)])
def test_a_huge_page_is_drawn_coarser(lease, sides):
    changed(lease, lambda page: setattr(page, "mediabox", RectangleObject((0, 0, *sides))))
    drawn = picture(lease, 2)
    assert drawn.width * drawn.height <= 1.01 * MAX_PIXELS and max(drawn.width, drawn.height) <= MAX_SIDE
    assert sides == (14_400, 14_400) or drawn.width < sides[0] * DPI / 72 or drawn.height < sides[1] * DPI / 72


def test_a_page_that_is_not_there_is_named(lease):
    with pytest.raises(FileSkipped, match="has no page 3; its pages are 1 to 2"):
        picture(lease, 3)
