"""Make the prompts of the models.

All prompts about one question begin alike: the same system message, the numbered passages, the question; the task comes
last. A server that remembers a prompt does not read its beginning again, and reading costs most of the time on a
laptop. The question stands behind the passages, so that a further question about the same ones shares them. `passages`
decides which passages are shown. In a prompt without passages, the description of the index or the chat stands first,
too. The task is a text of `prompt_texts`; the rest is added here, and no text can change it.
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
from local_rag.text.metadata import file_name, last_heading

if TYPE_CHECKING:
    from langchain_core.documents import Document

PROMPTS = "6"
"""The version of the prompts, increased with every change of a grader's prompt or schema: scores that were measured
before are void.
"""

PART = 2
"""The most sentences of one part of an answer that is written part by part."""

LONGEST_DRAFT = 1200
"""The most characters of a rejected draft that the next attempt is shown."""

WORDS = 12
"""The most words that a reason is asked to have."""


SEEN = 24
"""The frequent words of an index that the router is shown; half as many headings."""

LONGEST_REFERENCE = 400
"""The most characters of a reference answer that the judge is shown."""


@dataclass(frozen=True)
class Prompts:
    """Make the prompts of an engine from the texts in force."""

    texts: PromptTexts = field(default_factory=PromptTexts)

    @property
    def version(self) -> str:
        """The version of the prompts for a fingerprint: scores that were measured with other prompts are void."""
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
        """Make a prompt: the passages of these numbers (from 0), numbered from 1, or another beginning; the question;
        the task.

        Texts of files, people and models pass `fenced`; those in a task are fenced by the function of the task.
        """
        parts = [fenced(before), *rendered(documents, numbers)]
        parts += [f"Question: {fenced(question)}" if question else "", f"Task: {task}"]
        return [("system", self.texts.system), ("user", "\n\n".join(filter(None, parts)))]

    def about(self, passages: Passages, question: str, task: Callable[[Sequence[int]], str]) -> Prompt:
        """Make a prompt for the passages at given positions, with a task that depends on these positions."""
        return lambda positions: self.chat(task(positions), question, passages.documents, positions)

    # --- the tasks --------------------------------------------------------------------------------------------------

    def grade_task(self, count: int) -> str:
        """Return the task of the retrieval grader for a list of passages."""
        each = f"each of the {count} passages" if count > 1 else "the passage"
        form = f'{count} words, "yes" or "no" for each in their order' if count > 1 else '"yes" or "no"'
        wanted = self.texts.filled("retrieval_grader", passages=each)
        return f'{wanted} Answer in JSON with {form}: {{"r": "{_blanks(count)}"}}'

    def answer_task(self, attempt: Attempt, only: Sequence[int] = ()) -> str:
        """Return the task of the generator. A further attempt is told the errors of those before it.

        `only` are the passages that it may use, if others are shown. The task mentions neither marks, which are set by
        code, nor a refusal: told how to refuse, a small model refuses although the passages answer.
        """
        task = f"{_only('Use', only)}{self._whole_or_part(attempt)}"
        if attempt.written:
            task += f"\nThis stands already; do not repeat it:\n{fenced(attempt.written)}"
        if not attempt.failed:
            return task
        drafts = "\n".join(
            f"- {shorten(without_marks(draft), LONGEST_DRAFT)} (rejected: {why})" for draft, why in attempt.failed
        )
        return f"{task}\nEarlier answers were rejected; write a better one, not these again:\n{fenced(drafts)}"

    def _whole_or_part(self, attempt: Attempt) -> str:
        """Return the writing task. A part-by-part answer is told how to end."""
        if attempt.written is None:
            return self.texts.filled("generator", shape=shape_words(attempt.shape))
        shape = shape_words(replace(attempt.shape, sentences=min(PART, attempt.shape.sentences)))
        wanted = self.texts.filled("generator_part", part="next part" if attempt.written else "first part", shape=shape)
        more = f"hold nothing {'more ' * bool(attempt.written)}that belongs in the answer"
        return f"{wanted} If the passages {more}, write this sentence and nothing else: {attempt.shape.refusal}"

    def direct_task(self, shape: Shape) -> str:
        """Return the task of an answer without passages."""
        wanted = self.texts.filled("direct", shape=shape_words(shape))
        return f"{wanted} Their files were not looked at: do not claim that they say anything."

    def check_task(self, generation: str, passages: Passages, check: Check = "both", only: Sequence[int] = ()) -> str:
        """Return the task of the hallucination grader, sentence by sentence, of the answer grader, or of both.

        `only` are the numbers of the passages that count if others are shown.
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
        """Return the task of the router: where to search, and in how many steps. It asks only if there is a choice."""
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
        """Return the task of deciding whether the files are needed at all (Self-RAG, Retrieve)."""
        return f'{self.texts.filled("retrieval_decision")} Answer in JSON: {{"n": "yes or no"}}'

    def next_task(self, written: str) -> str:
        """Return the task of deciding how a begun answer goes on (Self-RAG, Retrieve over input and output)."""
        return (
            f"This stands already of an answer to the question:\n<answer>\n{fenced(written)}\n</answer>\n"
            f'{self.texts.filled("continuation")} Answer in JSON: {{"n": "yes, no or continue"}}'
        )

    def reason_task(self, thoughts: Sequence[str]) -> str:
        """Return the task of the next sentence of reasoning (IRCoT, arXiv 2212.10509, section 3.1), which is the next
        query.
        """
        listed = "\n".join(f"{number}. {shorten(thought, 300)}" for number, thought in enumerate(thoughts, start=1))
        begun = f"Your reasoning so far:\n{fenced(listed)}\n" if listed else ""
        return (
            f'{begun}{self.texts.filled("reasoner")} "t" is that sentence. "d" is true if your sentences now hold the '
            'answer, and the last one then says what the answer is; else false. Answer in JSON: {"t": "…", "d": true '
            "or false}"
        )

    def rewrite_task(self, tried: Sequence[str], target: Target) -> str:
        """Return the task of the question rewriter. It sees no passage: a query for the web must reveal nothing of the
        files.
        """
        listed = fenced("\n".join(f"- {shorten(query, 300)}" for query in tried))
        wanted = self.texts.filled(REWRITERS[target])
        return f"{wanted} These were tried already:\n{listed}\nWrite the new query on one line, nothing else."

    def standalone_task(self) -> str:
        """Return the task of making a follow-up of a chat standalone."""
        return f"{self.texts.filled('standalone')} Write it on one line, nothing else."

    def judge_task(self, references: Sequence[str], answer: str) -> str:
        """Return the task of the judge of a test run, without passages and without the name of the answerer."""
        listed = "\n".join(f"- {fenced(shorten(reference, LONGEST_REFERENCE))}" for reference in references)
        which = "this is the right answer" if len(references) == 1 else "each of these is a right answer"
        return (
            f"Judge an answer to the question. In the test, {which}:\n{listed}\nThe answer to be judged:\n"
            f'<answer>\n{fenced(answer)}\n</answer>\n{self.texts.filled("judge")} Answer in JSON: {{"j": "…"}}'
        )

    def propose_task(self, answered: bool) -> str:
        """Return the task of proposing a test question that the passage answers, or does not answer."""
        if answered:
            return f'{self.texts.filled("propose")} Answer in JSON: {{"q": "…", "a": "…"}}'
        return f'{self.texts.filled("propose_missing")} Answer in JSON: {{"q": "…"}}'


_OFFERS: dict[Source, str] = {
    "vectorstore": "the person's own files",
    "web_search": "the web, for a question that is clearly about something else than these files",
    "direct": "neither, for greetings and small talk",
}
REWRITERS: dict[Target, str] = {"vectorstore": "rewriter", "web": "rewriter_web"}
"""The text of the rewriter by the target of the query."""


def shape_words(shape: Shape) -> str:
    """Return the wanted shape of an answer in words: in German, in at most 3 sentences."""
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
    """Return a sentence that names the passages that count if others were found irrelevant; else ""."""
    if not numbers:
        return ""
    named = f"passage{'s' * (len(numbers) > 1)} {joined(map(str, numbers))}"
    return f"{what} only {named}: the others were found irrelevant. "


def _claim(claim: Claim, cited: Sequence[int]) -> str:
    """Return a sentence with the numbers of its cited passages at its end, wherever its marks stood."""
    mark = f" [{', '.join(map(str, cited))}]" if cited else ""
    columns = f" (columns: {' '.join(fenced(claim.columns).split())})" if claim.columns else ""
    return f"{' '.join(fenced(claim.text).split())}{columns}{mark}"


def with_reasons(messages: Sequence[Message], several: bool) -> list[Message]:
    """Add a request for reasons to the prompt of a grader: one reason, or one for each verdict of a list."""
    what = "a list with the reason for each" if several else "the reason"
    *before, (role, content) = messages
    return [*before, (role, f'{content}\nAdd to the JSON, at its end, "w": {what}, in at most {WORDS} words.')]


def correction(wrong: str, keys: Sequence[str]) -> str:
    """Return the message that follows an unusable reply."""
    shape = "{" + ", ".join(f'"{key}": …' for key in keys) + "}"
    return f"That reply could not be used: {fenced(wrong)}. Reply with the JSON object alone: {shape}"


# --- what stands first in a prompt without passages ---------------------------------------------------------------


def files_in_words(catalog: Catalog) -> str:
    """Describe the index in a few words: its owner's description, its catalog, and last the nearest passages.

    The description stands first in the prompt, and its first part is the same for every question. Its length is
    bounded.
    """
    about = f"{shorten(catalog.about, LONGEST_ABOUT)}\n" if catalog.about else ""
    headings = "; ".join(shorten(heading, 40) for heading in catalog.headings[: SEEN // 2])
    terms = ", ".join(catalog.terms[:SEEN])
    below = f"headings: {headings}; " if headings else ""
    known = f"The person's own files: {about}{summary(catalog)}; {below}frequent words: {terms}"
    return f"{known}\n\n{_near(catalog)}" if catalog.passages else known


def _near(catalog: Catalog) -> str:
    """List the results of a quick search for the question: the origin and similarity of each, not its text."""
    lines = ["What comes nearest to the question in these files:"]
    for document in catalog.passages:
        metadata = document.metadata
        title = metadata.get("title") or file_name(document)
        heading = last_heading(document)
        named = shorten(str(title), 60) + (f", {shorten(heading, 60)}" if heading and heading != title else "")
        lines.append(f"- {named}: similarity {float(metadata.get('score') or 0.0):.2f}")
    return "\n".join(lines)


def chat_so_far(history: Sequence[Turn]) -> str:
    """Render those turns of a chat that fit. They stand first in the prompt, so that the next follow-up shares them.

    For a question to the web the turns come without their answers, which are not shown then.
    """
    lines = [
        f"Q: {shorten(turn.question, 400)}" + (f"\nA: {shorten(turn.answer, 400)}" if turn.answer else "")
        for turn in history
    ]
    return "\n".join(["A chat:", *lines])
