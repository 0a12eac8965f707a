"""How question, header and passage become tokens: [CLS] question [SEP] header. text [SEP], token types 0 and 1.

The training makes its inputs in `scripts/evaluator_training`; a test compares them with these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local_rag.index.names import document_header, passage_header

if TYPE_CHECKING:
    import numpy as np
    from langchain_core.documents import Document
    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

WINDOW = 320
"""Tokens of the shipped model, special ones included: a question, a header and a passage of 250 tokens fit."""

_QUESTION, _HEADER, _SHARED = 0.4, 0.2, 0.2
"""Parts of the window: at most for a question, at most for a header, and what two windows of one passage share."""


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens that are read at once. Token `first + i` stands at code points `offsets[i]` of the passage's text.

    `heads[i]` and `tails[i]`: a word begins (ends) with that token, so an answer may.
    """

    ids: tuple[int, ...]
    types: tuple[int, ...]
    first: int
    offsets: tuple[tuple[int, int], ...]
    heads: tuple[bool, ...]
    tails: tuple[bool, ...]


def header_of(document: Document) -> str:
    """What a passage is read with: the words of its file's name, its title and its heading; "" where there are none."""
    known = document.metadata
    header = document_header(str(known.get("source") or known.get("url") or ""), str(known.get("title") or ""))
    return passage_header(header, str(known.get("heading") or ""))


class Inputs:
    """Makes windows of at most `window` tokens. `tokenizer` is for such objects alone; any thread may use it."""

    def __init__(self, tokenizer: Tokenizer, window: int = WINDOW) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True  # a file that says "[SEP]" says it in letters
        self.window = window
        self._tokenizer = tokenizer
        self.cls, self.sep, self.pad = (tokenizer.token_to_id(token) or 0 for token in ("[CLS]", "[SEP]", "[PAD]"))

    def windows(self, question: str, header: str, text: str) -> list[Window]:
        """The windows of a passage, one of them unless it is longer; none where the text has no token."""
        body = self._encode(text)
        if not body.ids:
            return []
        ahead = [self.cls, *self._ids(question, int(self.window * _QUESTION)), self.sep]
        named = self._ids(f"{header.rstrip('.')}." if header else "", int(self.window * _HEADER))
        first = len(ahead) + len(named)
        room = self.window - first - 1
        shared = min(int(self.window * _SHARED), room // 2)
        return [
            self._window(ahead, named, body, start, min(start + room, len(body.ids)))
            for start in range(0, max(1, len(body.ids) - shared), room - shared)
        ]

    def batch(self, windows: Sequence[Window]) -> Mapping[str, NDArray[np.int64]]:
        """The inputs of the model by name: (windows, tokens of the longest) each."""
        import numpy as np

        longest = max(len(window.ids) for window in windows)
        inputs: dict[str, Any] = {
            name: np.full((len(windows), longest), fill, dtype=np.int64)
            for name, fill in (("input_ids", self.pad), ("attention_mask", 0), ("token_type_ids", 0))
        }
        for row, window in enumerate(windows):
            length = len(window.ids)
            inputs["input_ids"][row, :length] = window.ids
            inputs["attention_mask"][row, :length] = 1
            inputs["token_type_ids"][row, :length] = window.types
        return inputs

    def _window(self, ahead: Sequence[int], named: Sequence[int], body: Encoding, start: int, end: int) -> Window:
        numbers = body.word_ids  # of the word that each token is of
        ids = (*ahead, *named, *body.ids[start:end], self.sep)
        return Window(
            ids=ids,
            types=(0,) * len(ahead) + (1,) * (len(ids) - len(ahead)),
            first=len(ahead) + len(named),
            offsets=tuple(body.offsets[start:end]),
            heads=tuple(at == 0 or numbers[at] != numbers[at - 1] for at in range(start, end)),
            tails=tuple(at == len(numbers) - 1 or numbers[at] != numbers[at + 1] for at in range(start, end)),
        )

    def _encode(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _ids(self, text: str, most: int) -> list[int]:
        ids: list[int] = self._encode(text).ids[:most] if text else []
        return ids
