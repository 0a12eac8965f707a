"""Pages of PDFs as pictures, and where on them a quote stands."""

import io

import pypdfium2
import pytest
from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.generic import RectangleObject
from support.hostile import make_pdf

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.loaders import load
from local_rag.index.parse.pdf_page import MAX_PIXELS, MAX_SIDE, picture, placed

REPAIRS, DEPOSIT = "The landlord repairs the roof.", "The deposit is 1,200 euros."
LEASE = f"""Rental contract
The notice period is three months to the end of a quar-
ter. {REPAIRS} {DEPOSIT}
{REPAIRS}"""


@pytest.fixture
def lease(tmp_path):
    return make_pdf(tmp_path / "lease.pdf", ["First page", LEASE])


def place(path, quote, nth=0):
    """Where the quote stands in the stored text of the second page, the n-th time."""
    text, start = load(path).documents[1].text, -1
    for _ in range(nth + 1):
        start = text.index(quote, start + 1)
    return text, [(start, start + len(quote))]


def text_under(path, found):
    """What pdfium reads where the rectangles are, line by line."""
    fine, lines, shown = 1_000_000, [], pypdfium2.PdfDocument(path)[1]
    convert = pypdfium2.PdfPosConv(shown, (0, 0, fine, fine, 0)).to_page
    for x, y, width, height in found.rectangles:
        corners = [convert(round(a * fine), round(b * fine)) for a, b in ((x, y), (x + width, y + height))]
        (left, right), (bottom, top) = (sorted(sides) for sides in zip(*corners, strict=True))
        lines.append(shown.get_textpage().get_text_bounded(left, bottom, right, top).strip().replace("\x02", "-"))
    return lines


def changed(path, **boxes):
    """The same file with other boxes of its second page, or turned."""
    writer = PdfWriter(clone_from=PdfReader(path))
    writer.pages[1].rotate(boxes.pop("turn", 0))
    for name, sides in boxes.items():
        setattr(writer.pages[1], name, RectangleObject(sides))
    writer.write(path)


def test_a_quote_over_two_lines_has_a_rectangle_on_each(lease):
    found = placed(lease, 2, *place(lease, "three months to the end of a quarter."))
    assert text_under(lease, found) == ["three months to the end of a quar-", "ter."]
    (x, y, width, height), below = found.rectangles
    assert 0 < x < x + width < 1 and 0 < y < y + height <= below[1] + 0.005
    assert found.pages == 2 and found.width == 1190 and found.height == 1684


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_on_a_turned_and_cropped_page_the_rectangles_turn_with_it(lease, turn):
    quote = place(lease, DEPOSIT)
    changed(lease, turn=turn, cropbox=(50, 500, 500, 800))
    found, drawn = placed(lease, 2, *quote), picture(lease, 2)
    assert text_under(lease, found) == [DEPOSIT]
    (_, _, width, height) = found.rectangles[0]
    assert (width * found.width < height * found.height) == (turn != 180)
    assert (drawn.width, drawn.height) == (found.width, found.height)


def test_a_quote_is_placed_where_its_context_leaves_no_doubt(lease):
    deposit, first, second = place(lease, DEPOSIT), place(lease, REPAIRS), place(lease, REPAIRS, nth=1)
    for page in (LEASE, f"A new line\n{LEASE}"):
        make_pdf(lease, ["First page", page])
        found = [placed(lease, 2, *quote) for quote in (first, deposit, second)]
        assert [text_under(lease, quote) for quote in found] == [[REPAIRS], [DEPOSIT], [REPAIRS]]
        assert found[2].rectangles[0][1] > found[1].rectangles[0][1] >= found[0].rectangles[0][1]
    make_pdf(lease, ["First page", "x y x y x"])
    for quote in (deposit, ("x", [(0, 1)]), ("x. y", [(1, 3)]), ("x", [(0, 0)])):
        assert placed(lease, 2, *quote).rectangles == ()


def test_a_picture_is_a_png_of_the_page(lease):
    drawn = picture(lease, 2)
    image = Image.open(io.BytesIO(drawn.png), formats=["PNG"])
    assert image.size == (drawn.width, drawn.height) == (1190, 1684)
    assert image.convert("L").getextrema() == (0, 255), "there is ink on paper"


@pytest.mark.parametrize("sides", [(14_400, 14_400), (14_400, 3)])
def test_a_huge_page_is_drawn_coarser(lease, sides):
    changed(lease, mediabox=(0, 0, *sides))
    drawn = picture(lease, 2)
    assert drawn.width * drawn.height <= 1.01 * MAX_PIXELS and max(drawn.width, drawn.height) <= MAX_SIDE


def test_a_page_that_is_not_there_is_named(lease):
    with pytest.raises(FileSkipped, match="has no page 3; its pages are 1 to 2"):
        picture(lease, 3)
