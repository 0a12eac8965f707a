"""How quotes are set out as an answer, and what of the shape that is asked for a quote cannot have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from local_rag.core.generation import Shape
from local_rag.text.languages import code_of, detected


def set_out(quotes: Sequence[str], shape: Shape) -> Iterator[str]:
    """The quotes with what stands before each of them: a blank, a new line, or the bullet or number of a list."""
    listed = shape.style != "short"
    for number, quote in enumerate(quotes):
        if listed and "\n" not in quote:
            bullet = f"{number + 1}. " if shape.style == "steps" else "- "
            yield f"{'' if number == 0 else chr(10)}{bullet}{quote}"
            continue
        lines = listed or (number > 0 and "\n" in quote + quotes[number - 1])
        yield f"{'' if number == 0 else chr(10) if lines else ' '}{quote}"


def unmet(quotes: Sequence[str], shape: Shape) -> Iterator[str]:
    """What a person should know who asked for more than quotes can give."""
    if shape.style == "table":
        yield "the extractive engine quotes sentences: they are set out as a list, not as a table"
    wanted, written = code_of(shape.language), detected(" ".join(quotes))
    if wanted and written and wanted != written:
        yield f"the extractive engine quotes: its answer keeps the language of the files and is not in {shape.language}"
