"""`local-rag outline`: files as wholes, without a language model."""

from __future__ import annotations

from typing import Annotated

from local_rag.cli.options import IndexOption, JsonOption, argument, settings_of, write_result
from local_rag.core.documents import Narrowing


def outline(
    file: Annotated[str, argument("FILE", "A file or page of the index, or a glob of some.")],
    index: IndexOption = None,
    json: JsonOption = False,
) -> int:
    """Show the outline of a file.

    The outline has the headings with the first sentence below each, the tables, and the commonest names, dates and
    amounts.
    """
    from local_rag.index.index import Index
    from local_rag.runtime.opening import existing_index
    from local_rag.terminal.answers import outline_lines

    with Index.open(existing_index(settings_of(index))) as opened:
        outlines = {file.path: opened.outline(file.path) for file in opened.files(Narrowing((file,)))}
    write_result(outlines, [line for each in outlines.values() for line in outline_lines(each)], as_json=json)
    return 0
