"""Show what a terminal or a pipe displays of a renderable."""

import io

from local_rag.terminal.console import SafeConsole


def shown(*parts, width=None, colour=False):
    """Return lines of text, as in a pipe, or in a terminal of that width; with colour, escape sequences too."""
    out = io.StringIO()
    options = {"width": width} if width else {}
    if width:
        options |= {"force_terminal": True, "color_system": "standard" if colour else None}
    console = SafeConsole(out, **options)
    for part in parts:
        console.print(part)
    return out.getvalue().splitlines()
