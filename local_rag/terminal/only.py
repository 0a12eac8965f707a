"""What `/only` of the chat takes and shows: in:PATH after:DATE before:DATE type:TYPE from:NAME."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict

from local_rag.core.documents import Narrowing
from local_rag.core.errors import UsageError
from local_rag.text.display import joined, shorten

KEYS = {"in": "within", "after": "after", "before": "before", "type": "types", "from": "authors"}
"""A key as it is typed -> the condition that it sets."""

EXAMPLE = "/only in:notes after:2023 type:pdf from:ann"


def typed_conditions(argument: str) -> Narrowing:
    """The conditions that a person types. Raises UsageError for a key that there is not, and for what is no date."""
    try:
        parts = shlex.split(argument)
    except ValueError as error:
        raise UsageError(
            f"a quote lacks its other one: {shorten(argument, 60)}", hint='/only from:"Ann Lee"'
        ) from error
    values: dict[str, list[str]] = defaultdict(list)
    for part in parts:
        key, colon, value = part.partition(":")
        if not (colon and value and key in KEYS):
            keys = joined([f"{known}:" for known in KEYS], "or")
            raise UsageError(f"/only takes {keys} with a value, or off, not {shorten(part, 40)!r}", hint=EXAMPLE)
        values[KEYS[key]].append(value)
    for name in ("after", "before"):
        if len(values.get(name, [])) > 1:
            raise UsageError(f"/only takes one {name}:", hint=EXAMPLE)
    after, before = ("".join(values.get(name, ())) for name in ("after", "before"))
    within, types, authors = (tuple(values.get(name, ())) for name in ("within", "types", "authors"))
    try:
        return Narrowing(within, after, before, types, authors)
    except UsageError as error:
        dates = " ".join(f"{key}:{day}" for key, day in re.findall(r"--(after|before) (\S+)", error.hint)[-2:])
        line = re.sub(r"--(in|after|before|type|from)\b", r"\1:", str(error))
        raise UsageError(line, hint=f"/only {dates}" if dates else EXAMPLE) from error


def shown_conditions(narrowing: Narrowing) -> str:
    """The conditions as they are typed."""
    key_of = {name: key for key, name in KEYS.items()}
    return " ".join(
        f"{key_of[name]}:{shlex.quote(text)}"
        for name, value in narrowing.conditions.items()
        if name in key_of
        for text in (value if isinstance(value, list) else [value])
    )
