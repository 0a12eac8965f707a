"""Prompts that chat programs send by themselves, for a title or tags of a chat: recognised, and answered of its words.

They go to the model that is chatted with unless another one is set up, and no file answers them.
"""

from __future__ import annotations

import json
import re

from local_rag.text.display import shorten
from local_rag.text.words import content_words

LONGEST_TITLE = 60
"""Characters."""

_FORM = re.compile(r'### Task:.*?JSON format:[\s`]*\{\s*"(?P<key>\w+)"\s*:\s*(?P<several>\[)?', re.DOTALL)
"""Open WebUI's (`backend/open_webui/config.py`, DEFAULT_…_PROMPT_TEMPLATE): titles, tags, follow-ups, queries, …"""
_TITLES = (
    "Provide a concise, 5-word-or-less title",  # LibreChat's (danny-avila/agents, src/utils/title.ts)
    "Given the following... please reply with a title",  # Continue's (core/util/chatDescriber.ts)
)
_ASKED = re.compile(r"^user: (.+?)(?=^(?:user|assistant|ai): |^</chat_history>|\Z)", re.DOTALL | re.I | re.M)
"""What the person says in the chat that such a prompt holds."""


def housekeeping(prompt: str) -> str | None:
    """The reply to such a prompt, in the form that it asks for; None for a question."""
    prompt = prompt.strip()
    form = _FORM.match(prompt)
    if form is None and not prompt.startswith(_TITLES):
        return None
    asked = _ASKED.findall(prompt) or [prompt.partition("\n\n")[2]]
    first, last = (" ".join(each.split()) for each in (asked[0], asked[-1]))
    title = shorten(first, LONGEST_TITLE)
    if form is None:
        return title
    replies = {"title": title, "tags": content_words(first)[:3], "queries": [last]}
    reply = replies.get(form["key"], [] if form["several"] else "")
    return json.dumps({form["key"]: reply}, ensure_ascii=False)
