"""Show the prompts in force with their origins, check a person's own texts, and fill prompts with an example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from local_rag.config.settings import Settings
from local_rag.config.yaml_file import read_yaml
from local_rag.core.errors import ConfigError, UsageError
from local_rag.core.protocols import Attempt, Shape
from local_rag.diagnostics.trial import ANSWER, CATALOG, FOLLOW_UP, HISTORY, PASSAGES, QUESTION
from local_rag.engines.language_model.passages import Passages
from local_rag.engines.language_model.prompt_texts import TEXTS, PromptTexts, of_person
from local_rag.engines.language_model.prompts import Prompts, chat_so_far, files_in_words
from local_rag.engines.language_model.tables import EXAMPLES
from local_rag.engines.language_model.window import Message
from local_rag.runtime.engine_choice import prompt_file, prompt_texts

OURS = "local-rag"
"""The origin of a text that nobody replaced."""


@dataclass(frozen=True)
class ShownPrompt:
    """Hold a prompt text in force, its `origin`, and the `digest` of calls that use this text alone.

    `placeholders` explains each name that is filled in, and `required` lists the names that the text must contain.
    """

    name: str
    purpose: str
    origin: str
    digest: str
    text: str
    placeholders: Mapping[str, str]
    required: tuple[str, ...]


@dataclass(frozen=True)
class PromptCheck:
    """Hold the check of a person's own texts.

    `mistakes` are (what is wrong, what to type). `examples` has by name the messages (role, content) of a prompt that
    is filled with an example. `own` names the texts that replace those of local-rag.
    """

    file: str
    exists: bool
    own: tuple[str, ...]
    mistakes: tuple[tuple[str, str], ...]
    examples: Mapping[str, Sequence[Message]]


def shown_prompts(settings: Settings, name: str | None, *, default: bool) -> list[ShownPrompt]:
    """Return every text in force, or that of one name; with `default`, the texts of local-rag.

    Raise UsageError for an unknown name.
    """
    texts = PromptTexts() if default else prompt_texts(settings)
    return [
        ShownPrompt(
            known,
            TEXTS[known].purpose,
            texts.origin.get(known, OURS),
            texts.digest([known]),
            texts.template(known),
            TEXTS[known].placeholders,
            tuple(TEXTS[known].required),
        )
        for known in _named(name)
    ]


def check_prompts(settings: Settings, name: str | None) -> PromptCheck:
    """Check a person's own texts one by one, and fill the prompt of that name, or of these texts, or of all.

    Raise ConfigError for a file that is not YAML, UsageError for an unknown name.
    """
    wanted = _named(name)
    path = prompt_file(settings)
    exists = path.exists() or path.is_symlink()
    given = read_yaml(path) if exists else {}
    own: dict[str, str] = {}
    mistakes: list[tuple[str, str]] = []
    for text, value in given.items():
        try:
            own |= of_person({text: value}, str(path)).replacements
        except ConfigError as error:
            mistakes.append((str(error), error.hint))
    texts = PromptTexts(own, dict.fromkeys(own, str(path)))
    changed = tuple(texts.changed)
    if name is None:
        wanted = changed or (() if mistakes else wanted)
    prompts = Prompts(texts)
    examples = {text: example(prompts, text) for text in wanted}
    return PromptCheck(str(path), exists, changed, tuple(mistakes), examples)


def _named(name: str | None) -> Sequence[str]:
    if name is not None and name not in TEXTS:
        raise UsageError(f"there is no prompt {name!r}: there are {', '.join(TEXTS)}", hint="local-rag prompts show")
    return [name] if name else list(TEXTS)


def as_yaml(shown: Sequence[ShownPrompt]) -> Iterator[str]:
    """Yield the lines of a prompts.yaml with these texts; comments explain the placeholders."""
    for number, prompt in enumerate(shown):
        if number:
            yield ""
        yield f"# {prompt.purpose}"
        for name, meaning in prompt.placeholders.items():
            yield f"# {{{name}}}{' (required)' if name in prompt.required else ''}: {meaning}"
        yield f"{prompt.name}: |-"
        yield from (f"  {line}" for line in prompt.text.splitlines())


def example(prompts: Prompts, name: str) -> list[Message]:
    """Return the messages that a model receives with a text, for the example of `models try`."""
    from langchain_core.documents import Document

    documents = [Document(text, metadata={"source": source}) for source, text in PASSAGES]
    passages, files = Passages.plain(documents), files_in_words(CATALOG)
    of_passages = {
        "system": prompts.grade_task(len(PASSAGES)),
        "retrieval_grader": prompts.grade_task(len(PASSAGES)),
        "generator": prompts.answer_task(Attempt()),
        "generator_part": prompts.answer_task(Attempt(written="")),
        "continuation": prompts.next_task(ANSWER),
        "hallucination_grader": prompts.check_task(ANSWER, passages),
        "answer_grader": prompts.check_task(ANSWER, passages),
        "reasoner": prompts.reason_task(["On Saturdays the library opens at 10:00."]),
    }
    if name in of_passages:
        return prompts.chat(of_passages[name], QUESTION, documents, range(len(documents)))
    of_one_passage = {"propose": prompts.propose_task(True), "propose_missing": prompts.propose_task(False)}
    if name in of_one_passage:
        return prompts.chat(of_one_passage[name], "", documents, [0])
    task, question, before = {
        "router": (prompts.route_task(CATALOG), QUESTION, files),
        "router_steps": (prompts.route_task(replace(CATALOG, multi=True)), QUESTION, files),
        "retrieval_decision": (prompts.need_task(), QUESTION, files),
        "direct": (prompts.direct_task(Shape()), "Good morning!", ""),
        "rewriter": (prompts.rewrite_task([QUESTION], "vectorstore"), QUESTION, ""),
        "rewriter_web": (prompts.rewrite_task([QUESTION], "web"), QUESTION, ""),
        "standalone": (prompts.standalone_task(), FOLLOW_UP, chat_so_far(HISTORY)),
        "table_query": (prompts.texts.filled("table_query"), "How many parcels were lost?", EXAMPLES),
        "judge": (prompts.judge_task(["At 10:00, and 5 euros."], ANSWER), QUESTION, ""),
    }[name]
    return prompts.chat(task, question, before=before)
