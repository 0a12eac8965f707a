"""What /only of the chat answers to what is no condition: hints that work when typed there."""

from __future__ import annotations

import pytest

from local_rag.core.errors import UsageError
from local_rag.terminal.only import typed_conditions


@pytest.mark.parametrize("typed", ["after:2023-99", "after:2024 before:2023", "before:soon", "size:3"])
def test_every_hint_is_a_command_of_the_chat(typed):
    with pytest.raises(UsageError) as caught:
        typed_conditions(typed)
    assert caught.value.hint.startswith("/only ") and "--" not in f"{caught.value}{caught.value.hint}"
    assert typed_conditions(caught.value.hint.removeprefix("/only "))
