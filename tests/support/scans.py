"""Make pages that are pictures, and a program in place of tesseract that reads what a test wants."""

import stat

from PIL import Image, ImageDraw, ImageFont

A4 = (1240, 1754)
"""The pixels of a page at 150 dpi."""

COLUMNS = "level page_num block_num par_num line_num word_num left top width height conf text".split()
"""The columns of tesseract's output: https://tesseract-ocr.github.io/tessdoc/Command-Line-Usage.html"""


def drawn(*lines, size=A4, ink=0):
    """Draw a page with these lines."""
    page = Image.new("L", size, 255)
    pen = ImageDraw.Draw(page)
    for number, line in enumerate(lines):
        pen.text((120, 150 + 60 * number), line, fill=ink, font=ImageFont.load_default(34))
    return page


def scanned(path, *pages):
    """Make a PDF of such pages, without a text layer."""
    first, *others = (page if isinstance(page, Image.Image) else drawn(*page) for page in pages)
    first.save(path, resolution=150, save_all=True, append_images=others)
    return path


def table(*lines):
    """Return the output of tesseract for lines (left, top, confidence, words) with letters 10 pixels wide."""
    rows = [COLUMNS, [1, 1, 0, 0, 0, 0, 0, 0, *A4, -1, ""]]
    for number, (left, top, confidence, line) in enumerate(lines):
        rows.append([4, 1, number, 1, 1, 0, left, top, 10 * len(line), 20, -1, ""])
        for place, word in enumerate(line.split()):
            rows.append([5, 1, number, 1, 1, place, left, top, 10 * len(word), 20, confidence, word])
            left += 10 * len(word) + 10
    return "\n".join("\t".join(map(str, row)) for row in rows)


def stand_in(folder, patched, output="", *, code=0, seconds=0):
    """Put a program named tesseract first on the PATH, which prints this output for any page after some seconds."""
    folder.mkdir(exist_ok=True)
    (folder / "said").write_text(output)
    program = folder / "tesseract"
    program.write_text(
        f'#!/bin/sh\necho "$@" >> {folder}/asked\n/bin/cat > /dev/null\n/bin/sleep {seconds}\n'
        f"/bin/cat {folder}/said\nexit {code}\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    patched.setenv("PATH", str(folder), prepend=":")
    return folder / "asked"
