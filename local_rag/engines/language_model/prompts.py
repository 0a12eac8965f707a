"""What the models are told.

All prompts about one question begin alike: the same system message, the numbered passages, the question; what is wanted
comes last. A server that remembers a prompt does not read its beginning again, and reading is what costs time on a
laptop. The question stands behind the passages, so that a further question about the same ones shares them. Which
passages are shown is for `passages` to say. What a prompt without passages shows of an index or a chat stands
first, too. What is wanted is a text of `prompt_texts`; the rest is added here, and no text can change it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from local_rag.core.documents import Catalog
from local_rag.core.protocols import Attempt, Shape, Style, Turn
from local_rag.core.verdicts import Check, Source, Target
from local_rag.engines.language_model.passages import Passages, rendered
from local_rag.engines.language_model.prompt_texts import PromptTexts
from local_rag.engines.language_model.window import Message, Prompt
from local_rag.text.display import LONGEST_ABOUT, joined, plural, shorten, summary
from local_rag.text.fences import fenced
from local_rag.text.marks import Claim, claims, without_marks
from local_rag.text.metadata import file_name

if TYPE_CHECKING:
    from langchain_core.documents import Document

PROMPTS = "5"
"""Counts up with every change of a prompt or a schema of a grader: scores that were measured before hold no longer."""

PART = 2
"""The most sentences of one part of an answer that is written part by part."""

LONGEST_DRAFT = 1200
"""Characters of a rejected draft that the next attempt is shown."""

WORDS = 12
"""The length that a reason is asked to have."""


SEEN = 24
"""Frequent words of an index that the router is shown; half as many headings."""

LONGEST_REFERENCE = 400
"""Characters of a reference answer that the judge is shown."""


@dataclass(frozen=True)
class Prompts:
    """The prompts of an engine, made of the texts in force."""

    texts: PromptTexts = field(default_factory=PromptTexts)

    @property
    def version(self) -> str:
        """For a fingerprint: scores that were measured with other prompts hold no longer."""
        changed = self.texts.fingerprint
        return f"{PROMPTS} with prompts {changed}" if changed else PROMPTS

    def chat(
        self,
        task: str,
        question: str = "",
        documents: Sequence[Document] = (),
        numbers: Sequence[int] = (),
        before: str = "",
    ) -> list[Message]:
        """A prompt: the passages of these numbers (from 0), numbered from 1, or what else stands first; the question.

        The task is last. What files, people and models wrote passes `fenced`; in a task its own function sees to that.
        """
        parts = [fenced(before), *rendered(documents, numbers)]
        parts += [f"Question: {fenced(question)}" if question else "", f"Task: {task}"]
        return [("system", self.texts.system), ("user", "\n\n".join(filter(None, parts)))]

    def about(self, passages: Passages, question: str, task: Callable[[Sequence[int]], str]) -> Prompt:
        """A prompt with the passages at some positions; what is wanted of them follows from these positions."""
        return lambda positions: self.chat(task(positions), question, passages.documents, positions)

    # --- the tasks --------------------------------------------------------------------------------------------------

    def grade_task(self, count: int) -> str:
        """The retrieval grader over a list."""
        each = f"each of the {count} passages" if count > 1 else "the passage"
        form = f'{count} words, "yes" or "no" for each in their order' if count > 1 else '"yes" or "no"'
        wanted = self.texts.filled("retrieval_grader", passages=each)
        return f'{wanted} Answer in JSON with {form}: {{"r": "{_blanks(count)}"}}'

    def answer_task(self, attempt: Attempt, only: Sequence[int] = ()) -> str:
        """The generator. A further attempt is told what was wrong with those before it.

        `only` are the passages that it may use, where others are shown.
        """
        wanted, missing = self._whole_or_part(attempt)
        task = (
            f"{_only('Use', only)}{wanted} {_MARKED[attempt.shape.style]} with the number of the passage that says it, "
            f"in square brackets, like [{min(only, default=1)}]. If the passages {missing}, write this sentence and "
            f"nothing else: {attempt.shape.refusal}"
        )
        if attempt.written:
            task += f"\nThis stands already; do not repeat it:\n{fenced(attempt.written)}"
        if not attempt.failed:
            return task
        drafts = "\n".join(
            f"- {shorten(without_marks(draft), LONGEST_DRAFT)} (rejected: {why})" for draft, why in attempt.failed
        )
        return f"{task}\nEarlier answers were rejected; write a better one, not these again:\n{fenced(drafts)}"

    def _whole_or_part(self, attempt: Attempt) -> tuple[str, str]:
        """What is to be written, and what passages may lack of it: a part may lead to the answer, and not hold it."""
        if attempt.written is None:
            return self.texts.filled("generator", shape=shape_words(attempt.shape)), "do not contain the answer"
        shape = shape_words(replace(attempt.shape, sentences=min(PART, attempt.shape.sentences)))
        wanted = self.texts.filled("generator_part", part="next part" if attempt.written else "first part", shape=shape)
        return wanted, f"hold nothing {'more ' * bool(attempt.written)}that belongs in the answer"

    def direct_task(self, shape: Shape) -> str:
        """An answer without passages."""
        wanted = self.texts.filled("direct", shape=shape_words(shape))
        return f"{wanted} Their files were not looked at: do not claim that they say anything."

    def check_task(self, generation: str, passages: Passages, check: Check = "both", only: Sequence[int] = ()) -> str:
        """The hallucination grader, sentence by sentence, and the answer grader; or one of the two.

        `only` are the numbers of the passages that count where others are shown.
        """
        if check == "usefulness":
            return (
                f"Judge this answer to the question.\n<answer>\n{fenced(without_marks(generation))}\n</answer>\n"
                f'"u": {self.texts.filled("answer_grader", answer="it")} Answer in JSON: {{"u": …}}'
            )
        sentences = claims(generation)
        numbered = "\n".join(
            f"{number}. {_claim(claim, passages.numbers_of(claim.numbers))}"
            for number, claim in enumerate(sentences, start=1)
        )
        each = f"each of the {len(sentences)} sentences, in their order," if len(sentences) > 1 else "the sentence"
        support = self.texts.filled("hallucination_grader", sentences=each)
        begin = f"{_only('Go by', only)}Judge this answer to the question.\n<answer>\n{numbered}\n</answer>\n"
        begin += f'"s": {support} '
        listed = f'"s": "{_blanks(len(sentences))}"'
        if check == "support":
            return f"{begin}Answer in JSON: {{{listed}}}"
        useful = self.texts.filled("answer_grader", answer="it all")
        return f'{begin}"u": {useful} Answer in JSON: {{{listed}, "u": …}}'

    def route_task(self, catalog: Catalog) -> str:
        """The router: where to look, and in how many steps. What there is no choice of is not asked."""
        steps = self.texts.filled("router_steps")
        if len(catalog.allowed) == 1:
            begin = "An answer to the question is looked for in these files."
            return f'{begin} Choose {steps} Answer in JSON: {{"c": "…"}}'
        listed = "\n".join(f'"{source}": {_OFFERS[source]}' for source in catalog.allowed)
        where = self.texts.filled("router", sources=listed, first=catalog.allowed[0])
        if not catalog.multi:
            return f'{where} Answer in JSON: {{"d": "…"}}'
        return f'{where}\nChoose also {steps} Answer in JSON: {{"d": "…", "c": "…"}}'

    def need_task(self) -> str:
        """Whether the files are needed at all (Self-RAG, Retrieve)."""
        return f'{self.texts.filled("retrieval_decision")} Answer in JSON: {{"n": "yes or no"}}'

    def next_task(self, written: str) -> str:
        """How an answer goes on after what is written of it (Self-RAG, Retrieve over input and output)."""
        return (
            f"This stands already of an answer to the question:\n<answer>\n{fenced(written)}\n</answer>\n"
            f'{self.texts.filled("continuation")} Answer in JSON: {{"n": "yes, no or continue"}}'
        )

    def reason_task(self, thoughts: Sequence[str]) -> str:
        """The next sentence of a chain of reasoning (IRCoT, arXiv 2212.10509, section 3.1); it is searched with."""
        listed = "\n".join(f"{number}. {shorten(thought, 300)}" for number, thought in enumerate(thoughts, start=1))
        begun = f"Your reasoning so far:\n{fenced(listed)}\n" if listed else ""
        return (
            f'{begun}{self.texts.filled("reasoner")} "t" is that sentence. "d" is true if your sentences now hold the '
            'answer, and the last one then says what the answer is; else false. Answer in JSON: {"t": "…", "d": true '
            "or false}"
        )

    def rewrite_task(self, tried: Sequence[str], target: Target) -> str:
        """The question rewriter. It sees no passage: a query for the web holds nothing of the files."""
        listed = fenced("\n".join(f"- {shorten(query, 300)}" for query in tried))
        wanted = self.texts.filled(REWRITERS[target])
        return f"{wanted} These were tried already:\n{listed}\nWrite the new query on one line, nothing else."

    def standalone_task(self) -> str:
        """A follow-up of a chat, made whole."""
        return f"{self.texts.filled('standalone')} Write it on one line, nothing else."

    def judge_task(self, references: Sequence[str], answer: str) -> str:
        """The judge of a test run: the question stands before it, no passage, and not who wrote the answer."""
        listed = "\n".join(f"- {fenced(shorten(reference, LONGEST_REFERENCE))}" for reference in references)
        which = "this is the right answer" if len(references) == 1 else "each of these is a right answer"
        return (
            f"Judge an answer to the question. In the test, {which}:\n{listed}\nThe answer to be judged:\n"
            f'<answer>\n{fenced(answer)}\n</answer>\n{self.texts.filled("judge")} Answer in JSON: {{"j": "…"}}'
        )

    def propose_task(self, answered: bool) -> str:
        """A question for a test that the passage answers, or does not."""
        if answered:
            return f'{self.texts.filled("propose")} Answer in JSON: {{"q": "…", "a": "…"}}'
        return f'{self.texts.filled("propose_missing")} Answer in JSON: {{"q": "…"}}'


_MARKED: dict[Style, str] = {
    "short": "End each sentence",
    "list": "End each item",
    "steps": "End each step",
    "table": "End the last cell of each row",
}
_OFFERS: dict[Source, str] = {
    "vectorstore": "the person's own files",
    "web_search": "the web, for a question that is clearly about something else than these files",
    "direct": "neither, for greetings and small talk",
}
REWRITERS: dict[Target, str] = {"vectorstore": "rewriter", "web": "rewriter_web"}
"""The text of the rewriter by what the query is for."""


def shape_words(shape: Shape) -> str:
    """What the generator is asked for: in German, in at most 3 sentences."""
    count = shape.sentences
    listed = "and nothing else, each one sentence on a line behind"
    sets_out: dict[Style, str] = {
        "short": f"in at most {plural(count, 'sentence')}",
        "list": f'as a list of at most {plural(count, "item")} {listed} "- "',
        "steps": f'in at most {plural(count, "step")} {listed} "1.", "2.", …',
        "table": f"as a table in Markdown, a line of headings and at most {plural(count, 'row')} below it",
    }
    return f"{f'in {shape.language}, ' if shape.language else ''}{sets_out[shape.style]}"


def _blanks(count: int) -> str:
    return " ".join(["…"] * count)


def _only(what: str, numbers: Sequence[int]) -> str:
    """Which passages count, where others were found irrelevant; else nothing."""
    if not numbers:
        return ""
    named = f"passage{'s' * (len(numbers) > 1)} {joined(map(str, numbers))}"
    return f"{what} only {named}: the others were found irrelevant. "


def _claim(claim: Claim, cited: Sequence[int]) -> str:
    """A sentence with the numbers of the passages it cites behind it, wherever its marks stood."""
    mark = f" [{', '.join(map(str, cited))}]" if cited else ""
    columns = f" (columns: {' '.join(fenced(claim.columns).split())})" if claim.columns else ""
    return f"{' '.join(fenced(claim.text).split())}{columns}{mark}"


def with_reasons(messages: Sequence[Message], several: bool) -> list[Message]:
    """The prompt of a grader that is asked for its reasons, too: one, or one for each verdict of a list."""
    what = "a list with the reason for each" if several else "the reason"
    *before, (role, content) = messages
    return [*before, (role, f'{content}\nAdd to the JSON, at its end, "w": {what}, in at most {WORDS} words.')]


def correction(wrong: str, keys: Sequence[str]) -> str:
    """What the retry adds after the reply that could not be used."""
    shape = "{" + ", ".join(f'"{key}": …' for key in keys) + "}"
    return f"That reply could not be used: {fenced(wrong)}. Reply with the JSON object alone: {shape}"


# --- what stands first in a prompt without passages ---------------------------------------------------------------


def files_in_words(catalog: Catalog) -> str:
    """What is in the index, in a few words: as its owner says it, then as its catalog does; last what comes near.

    It stands first, and what is the same for every question stands first in it. Its length is bounded.
    """
    about = f"{shorten(catalog.about, LONGEST_ABOUT)}\n" if catalog.about else ""
    headings = "; ".join(shorten(heading, 40) for heading in catalog.headings[: SEEN // 2])
    terms = ", ".join(catalog.terms[:SEEN])
    below = f"headings: {headings}; " if headings else ""
    known = f"The person's own files: {about}{summary(catalog)}; {below}frequent words: {terms}"
    return f"{known}\n\n{_near(catalog)}" if catalog.passages else known


def _near(catalog: Catalog) -> str:
    """What a quick search for the question brings: where it is from and how similar it is, not what it says."""
    lines = ["What comes nearest to the question in these files:"]
    for document in catalog.passages:
        metadata = document.metadata
        title = metadata.get("title") or file_name(document)
        heading = str(metadata.get("heading") or "").rpartition(" > ")[2]
        named = shorten(str(title), 60) + (f", {shorten(heading, 60)}" if heading and heading != title else "")
        lines.append(f"- {named}: similarity {float(metadata.get('score') or 0.0):.2f}")
    return "\n".join(lines)


def chat_so_far(history: Sequence[Turn]) -> str:
    """These turns are what fits of a chat. They stand first, so that the next follow-up shares them.

    For a question to the web they come without their answers, which are not shown then.
    """
    lines = [
        f"Q: {shorten(turn.question, 400)}" + (f"\nA: {shorten(turn.answer, 400)}" if turn.answer else "")
        for turn in history
    ]
    return "\n".join(["A chat:", *lines])
