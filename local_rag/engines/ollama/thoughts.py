"""A model's thoughts are not its answer: what stands between <think> and </think> at the beginning is left out."""

from __future__ import annotations

OPEN, CLOSE = "<think>", "</think>"


class Thoughts:
    """Takes a reply bit by bit and gives back what is not thought. `text` is all that was given back."""

    def __init__(self) -> None:
        self._held = ""
        self._state = "before"
        self.text = ""

    def feed(self, content: str) -> str:
        """The text that is certain by now, perhaps none."""
        if self._state == "after":
            return self._give(content)
        self._held += content
        if self._state == "before":
            start = self._held.lstrip()
            if start.startswith(OPEN):
                self._state = "thinking"
            elif not OPEN.startswith(start):
                self._state = "after"
                return self._give(self._held)
        if self._state == "thinking" and CLOSE in self._held:
            self._state, self._held = "between", self._held.partition(CLOSE)[2]
        if self._state == "between" and (begun := self._held.lstrip()):
            self._state = "after"
            return self._give(begun)
        return ""

    def end(self) -> str:
        """What was held back and is no thought after all; a thought that never ended leaves nothing."""
        return self._give(self._held) if self._state == "before" else ""

    def _give(self, text: str) -> str:
        self._held = ""
        self.text += text
        return text
