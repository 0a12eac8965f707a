"""Convert reStructuredText to Markdown, with the position of every code point: headings, lists, code, roles and links.

The syntax is that of https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html. Tables are shown as code;
everything else stays text.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from local_rag.text.markup import View
from local_rag.text.words import indentation

_ITEM = re.compile(r"([-*+•]|\(?(?:\d{1,9}|#)[.)])[ \t]+(?=\S)")
_BORDER = re.compile(r"=+(?: +=+)+$|\+[-=+]+\+$")
_CODE = re.compile(r"\.\. (?:code|code-block|sourcecode|parsed-literal|literalinclude|doctest|math)::")
_INLINE = re.compile(
    r"``.+?``(?!`)|\\(?!\s)."
    r"|(?P<sign>(?<!\w)__\w+__(?!\w)|(?<![A-Za-z0-9])_|_(?=\w))|(?P<nothing>\\\s|(?<=\w)__?(?![\w`])|(?<=\w:):(?=\s))"
    r"|(?::(?P<role>[A-Za-z][\w:+.-]*):)?`(?:~(?:\w+\.)*(?=\w))?(?P<text>[^`<]*?)(?P<gap>\s*)"
    r"(?:<(?P<to>[^`>]*)>)?`(?P<link>_{0,2})"
    r"|\[(?P<note>#?[\w-]*|\*)\]_(?!\w)"
    r"|(?P<next>\n)(?=[ \t]*(?::?[A-Z][\w-]*:(?:\s|\Z)|\|[ \t]))",  # a field ("Author: Ada"), or a line of a poem
    re.DOTALL,
)
_TARGET = re.compile(r"\.\. _[^\n]*:$")
"""The target of a link within the file; it is left out."""
_FENCE = f"{'~' * 120}\n"
"""A fence longer than the lines below headings, which code may contain."""


def as_markdown(text: str, headings: Collection[int]) -> View:
    """Convert a text to Markdown; `headings` are the code points at which one begins, with the line above it."""
    return _Writer(text, headings).written()


class _Writer:
    """Convert a text line by line; copied text keeps its positions, added text gets the position of the
    text after it.
    """

    def __init__(self, text: str, headings: Collection[int]) -> None:
        self._lines = [(match.start(), match.group()) for match in re.finditer(r"[^\n]*\n|[^\n]+", text)]
        self._headings = headings
        self._parts, self._positions = list[str](), list[int]()
        self._lists = [(0, 0)]  # where the texts of the lists around begin: in a line of the text, and of Markdown

    def written(self) -> View:
        """Convert all lines and return the Markdown with its positions."""
        line = 0
        while line < len(self._lines):
            line = self._block(line)
        return View("".join(self._parts), tuple(self._positions))

    def _put(self, at: int, written: str, *, added: bool = False) -> None:
        self._parts.append(written)
        self._positions += [at] * len(written) if added else range(at, at + len(written))

    def _block(self, first: int) -> int:
        """Write the block that begins in a line; return the number of the line behind it."""
        at, line = self._lines[first]
        indent = self._indent(first)
        if not line.strip() or _TARGET.match(line.strip()):
            self._put(at, "\n")
            return first + 1
        while self._lists[-1][0] > indent:
            self._lists.pop()
        if at in self._headings:
            return self._heading(first)
        if _BORDER.match(line.strip()):
            borders = (n for n in range(first + 1, len(self._lines)) if _BORDER.match(self._line(n)))
            end = next((n + 1 for n in borders if not self._line(n + 1)), first + 1)
            return self._fenced(first, end, is_table=True)
        if line.strip().startswith(">>>"):
            return self._fenced(first, self._end(first, indent))
        if _CODE.match(line.strip()):
            begin = first + 1
            while self._line(begin).startswith(":"):
                begin += 1
            return self._literal(begin, indent)
        return self._paragraph(first, indent)

    def _line(self, number: int) -> str:
        return self._lines[number][1].strip() if number < len(self._lines) else ""

    def _indent(self, number: int) -> int:
        return indentation(self._lines[number][1].expandtabs())

    def _heading(self, first: int) -> int:
        first += first + 1 < len(self._lines) and not any(map(str.isalnum, self._line(first)))
        at, line = self._lines[first]
        self._put(at, "# ", added=True)
        self._inline(at + indentation(line), line.lstrip())
        return first + 2

    def _paragraph(self, first: int, indent: int) -> int:
        at, line = self._lines[first]
        end = self._end(first, indent)
        begin = at + indentation(line)
        self._put(begin, " " * self._lists[-1][1], added=True)
        if item := _ITEM.match(line.strip()):
            sign = item[1].lstrip("(").replace("#", "1").replace("•", "-")
            self._put(begin, f"{sign} ", added=True)
            begin += item.end()
            self._lists.append((indent + item.end(), self._lists[-1][1] + len(sign) + 1))
        elif line.strip().startswith(".. "):
            begin += 3
        elif end > first + 1 and self._indent(first + 1) > indent:  # a term and what it means
            self._inline(begin, line.strip())
            begin = at + len(line) - 1
            self._put(begin, "\\", added=True)
        last, ending = self._lines[end - 1]
        whole = "".join(line for _, line in self._lines[first:end])[begin - at :]
        if not whole.rstrip().endswith("::"):
            self._inline(begin, whole)
            return end
        cut = len(whole.rstrip()) - 1
        self._inline(begin, whole[:cut])
        self._put(last + len(ending) - 1, "\n")
        return self._literal(end, indent)

    def _end(self, first: int, indent: int) -> int:
        """Return the line behind a paragraph: an empty one, a heading, or the next item of its list."""
        is_item = bool(_ITEM.match(self._line(first)))
        for number in range(first + 1, len(self._lines)):
            begins_item = is_item and self._indent(number) <= indent and _ITEM.match(self._line(number))
            if not self._line(number) or begins_item or self._lines[number][0] in self._headings:
                return number
        return len(self._lines)

    def _literal(self, first: int, indent: int) -> int:
        """Write the lines that are indented further as code; return the line behind them."""
        begin = first
        while begin < len(self._lines) and not self._line(begin):
            begin += 1
        end = begin
        while end < len(self._lines) and (not self._line(end) or self._indent(end) > indent):
            end += 1
        while end > begin and not self._line(end - 1):
            end -= 1
        return self._fenced(begin, end) if begin < end else first

    def _columns(self, at: int, row: str) -> None:
        """Write a row without the markup of code, so that its columns stay aligned."""
        end = 0
        for match in re.finditer("``(.+?)``", row):
            self._put(at + end, row[end : match.start()])
            self._put(at + match.start(1), match[1])
            self._put(at + match.end(), " " * 4, added=True)
            end = match.end()
        self._put(at + end, row[end:])

    def _fenced(self, first: int, end: int, *, is_table: bool = False) -> int:
        around = " " * self._lists[-1][1]
        cut = min(self._indent(number) for number in range(first, end) if self._line(number))
        self._put(self._lines[first][0], around + _FENCE, added=True)
        for at, line in self._lines[first:end]:
            self._put(at, around, added=True)
            begin = min(cut, len(line) - 1)
            self._columns(at + begin, line[begin:]) if is_table else self._put(at + begin, line[begin:])
        after = self._lines[end - 1][0] + len(self._lines[end - 1][1])
        self._put(after, f"\n{around}{_FENCE}" if not line.endswith("\n") else around + _FENCE, added=True)
        return end

    def _inline(self, at: int, text: str) -> None:
        """Write the text of a block, with roles and links in the syntax of Markdown."""
        end = 0
        for match in _INLINE.finditer(text):
            self._put(at + end, text[end : match.start()])
            end, begin = match.end(), at + match.start()
            if match["nothing"]:
                continue
            if match["next"]:
                self._put(begin, "\\\n", added=True)
            elif match["sign"]:
                for place, letter in enumerate(match["sign"], begin):
                    self._put(place, f"\\{letter}" if letter == "_" else letter, added=True)
            elif match["note"] is not None:
                self._put(begin, text[match.start() : end - 1])
            elif not (match["text"] or match["to"]):
                self._put(begin, match.group())
            else:
                self._reference(at, match)
        self._put(at + end, text[end:])

    def _reference(self, at: int, match: re.Match[str]) -> None:
        name = "text" if match["text"] else "to"
        start, words, to = at + match.start(name), match[name] or "", match["to"] or ""
        if (match["role"] or "").lower() in ("pep", "rfc") and words.isdecimal():
            self._put(start, f"{match['role'].upper()} ", added=True)
            self._put(start, words)
        elif match["link"] and to.startswith(("http://", "https://")):
            self._put(start, "[", added=True)
            self._put(start, words)
            self._put(at + match.start("to"), f"]({to})", added=True)
        elif match["link"]:
            self._put(start, words)
        else:
            self._put(start, "`", added=True)
            self._put(start, words)
            self._put(start + len(words), "`", added=True)
