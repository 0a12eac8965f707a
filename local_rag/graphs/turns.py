"""The turns of a chat as they are stored: what a program may write as one, and what it has in any case when read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from local_rag.core.answer import Citation, Conflict, Status
from local_rag.core.errors import UsageError
from local_rag.core.serialization import from_plain
from local_rag.core.usage import Usage
from local_rag.core.verdicts import Graded
from local_rag.text.display import shorten

Turn = dict[str, Any]
"""One question of a thread and its answer, as `nodes.conversation.remember` writes it."""


def given_turns(given: object, at: str) -> list[Turn]:
    """The turns that are to be stored, whole. Raises UsageError for a value that is no list of turns."""
    turns = [] if given is None else given
    if isinstance(turns, list) and all(map(_is_turn, turns)):
        return whole_turns(turns, at)
    raise UsageError(
        "turns are a list of mappings with the texts question and answer, and where they are given asked and at (a "
        f"time with its zone, ISO 8601), and what else a turn that is kept has, not {shorten(repr(given), 60)}",
        hint='app.update_state(chat, {"turns": [{**turn, "answer": "…"}]}, as_node="remember")   edits a turn',
    )


_KINDS: dict[str, Any] = {
    "status": Status,
    "sources": tuple[Citation, ...],
    "conflicts": tuple[Conflict, ...],
    "decisions": tuple[Graded, ...],
    "usage": Usage,
    "path": tuple[str, ...],
    "language": str,
    "index": str,
    "indexes": tuple[str, ...],
}
"""What else a turn may have that is shown as an answer."""


def _is_turn(turn: object) -> bool:
    if not isinstance(turn, dict) or not all(isinstance(turn.get(key), str) for key in ("question", "answer")):
        return False
    if not isinstance(turn.get("asked", ""), str) or ("at" in turn and not _is_time(turn["at"])):
        return False
    try:
        for key, kind in _KINDS.items():
            if key in turn:
                from_plain(kind, turn[key])
    except ValueError:
        return False
    return True


def _is_time(text: object) -> bool:
    try:
        return isinstance(text, str) and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def whole_turns(turns: Sequence[Turn], at: str) -> list[Turn]:
    """The turns of a checkpoint of that time, with what the next question, and whatever shows a chat, read of each.

    Raises TypeError for what are none.
    """
    if not all(isinstance(turn, dict) for turn in turns):
        raise TypeError("a turn that is none")
    return [_whole_turn(turn, at) for turn in turns]


def _whole_turn(turn: Turn, at: str) -> Turn:
    question = str(turn.get("question", ""))
    times = {} if _is_time(turn.get("at")) else {"at": at}
    return {"answer": "", "asked": question, "status": "direct", "sources": [], **turn, "question": question} | times
