"""A model's thoughts are not its answer: what stands before </think> in a reply is left out."""

from __future__ import annotations

OPEN, CLOSE = "<think>", "</think>"


class Thoughts:
    """Takes a reply bit by bit and gives back what is not thought. `text` is what counts by now.

    Some templates and servers lose the opening mark. Then thoughts are given back like an answer until the closing
    mark comes, and `restarted` says that they are to be forgotten.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state = "before"
        self.text = ""
        self.restarted = False
        self._thought = False

    def feed(self, content: str) -> str:
        """The text that is certain by now, perhaps none; `restarted` is True where it replaces all before it."""
        self.restarted = False
        self._held += content
        if self._state == "before":
            start = self._held.lstrip()
            if start.startswith(OPEN):
                self._state = "thinking"
            elif not OPEN.startswith(start):
                self._state = "after"
        if self._state == "thinking" and CLOSE in self._held:
            self._state, self._held, self._thought = "between", self._held.partition(CLOSE)[2], True
        if self._state == "after" and self._was_thought(so_far := self.text + self._held):
            self.restarted = bool(self.text)
            self._state, self._held, self._thought = "between", so_far.partition(CLOSE)[2], True
            self.text = ""
        if self._state == "between" and self._held.strip():
            self._state, self._held = "after", self._held.lstrip()
        return self._give() if self._state == "after" else ""

    def end(self) -> str:
        """What was held back and is no thought after all; a thought that never ended leaves nothing."""
        self.restarted = False
        return self._give() if self._state == "before" else ""

    def _was_thought(self, so_far: str) -> bool:
        before, close, _ = so_far.partition(CLOSE)
        return bool(close) and OPEN not in before and not self._thought

    def _give(self) -> str:
        text, self._held = self._held, ""
        self.text += text
        return text
