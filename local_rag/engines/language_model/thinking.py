"""Models that think although they are told not to: how each is asked from its first empty reply on."""

from __future__ import annotations

import threading
from dataclasses import replace

from local_rag.engines.language_model.context_window import ModelSetup


class Thinking:
    """What came out about the models of one server, for the life of an engine.

    Such a model generates its JSON, and the server takes all of it for thoughts: the reply is empty (recorded for
    harmony's parser). It is then sent `think: low`, or `true` where the server refuses a level.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed: dict[str, ModelSetup] = {}
        self._notes: dict[str, str] = {}

    def of(self, setup: ModelSetup) -> ModelSetup:
        """How the model of a setup is asked by now."""
        return self._changed.get(setup.model, setup)

    def after_empty(self, setup: ModelSetup) -> bool:
        """Tokens were generated and no text came: whether the model is asked otherwise from now on."""
        with self._lock:
            if setup.think or setup.thinks is False:
                return False
            self._changed.setdefault(setup.model, replace(setup, think="low"))
            return self._changed[setup.model] != setup

    def after_refusal(self, setup: ModelSetup) -> bool:
        """The server refused a `think`: whether that was found here, and the model is asked otherwise from now on.

        In the end it is told again not to think, and its empty replies are failures.
        """
        with self._lock:
            changed = self._changed.get(setup.model)
            if changed is None or not setup.think:
                return False
            if changed == setup:
                self._changed[setup.model] = replace(setup, think=setup.think == "low")
            return True

    def note(self, setup: ModelSetup) -> str:
        """What a person should know of a model that replied in the way found here; once for each model."""
        with self._lock:
            if self._changed.get(setup.model) != setup or not setup.think or setup.model in self._notes:
                return ""
            line = f"'think: {str(setup.think).lower()}'"
            self._notes[setup.model] = (
                f"{setup.model} thinks although it is told not to: its first reply was empty, and from now on it gets "
                f"{line} and more room. To save that call, give it the line {line} in your models.yaml, under "
                f"ollama: models: {setup.model}:"
            )
            return self._notes[setup.model]

    @property
    def notes(self) -> list[str]:
        """All that was told so far."""
        return list(self._notes.values())
