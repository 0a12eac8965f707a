"""`local-rag eval make` in a terminal: each proposed question with its passage, to keep, edit or drop."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from local_rag.config.settings import Settings
from local_rag.core.errors import UsageError
from local_rag.evaluation.making.case_file import CaseFile
from local_rag.evaluation.making.proposals import LOOKED, MADE_BY_RULES, CaseProposals, Proposal, edited
from local_rag.index.path_labels import PathLabel
from local_rag.runtime.engine_choice import Choice, choose_engine
from local_rag.runtime.opening import open_embedder, open_index
from local_rag.runtime.written import enter
from local_rag.terminal.console import TerminalDisplay, write
from local_rag.terminal.proposal import BETWEEN, proposal_parts
from local_rag.text.display import plural, printable, short_path

if TYPE_CHECKING:
    from rich.console import Console

    from local_rag.index.index import Index

RULES_NOTE = (
    "made by rules from the files' own words: word search will look better than on people's questions, and foreign "
    "questions are easy to refuse; mix in questions of your own"
)

Decision = Literal["keep", "edit", "drop", "quit"]
_KEYS: dict[str, Decision] = {"k": "keep", "e": "edit", "d": "drop", "q": "quit"}
_KEYS |= {word: word for word in _KEYS.values()}


def make_cases(
    settings: Settings,
    path: Path,
    console: Console,
    *,
    count: int = 20,
    unanswerable: int = 5,
    seed: int = 0,
    keep_all: bool = False,
) -> int:
    """Propose so many questions with and without an answer, and append what is kept to a file; the exit code.

    The same command proposes further ones: none that is in the file, and first what comes behind the last that was
    kept. Ctrl-D ends it, and so does Ctrl-C (KeyboardInterrupt); what was kept stays. Raises UsageError where there is
    no terminal to ask in, unless `keep_all`, and what opening the index and the engine raises.
    """
    from local_rag.engines.language_model.judge import QuestionProposer
    from local_rag.engines.ollama.engine import OllamaEngine

    if count < 0 or unanswerable < 0 or not count + unanswerable:
        raise UsageError("--count and --unanswerable are both 0", hint="local-rag eval make CASES.jsonl --count 20")
    if not keep_all and not (console.is_terminal and sys.stdin.isatty()):
        raise UsageError(
            "there is no terminal in which you could choose the questions",
            hint=f"local-rag eval make {shlex.quote(str(path))} --yes keeps every proposal",
        )
    file = CaseFile(path)
    embedder = open_embedder(settings, TerminalDisplay(console))
    with open_index(settings, embedder) as index:
        if not index.catalog().chunks:
            name = shlex.quote(settings.values.index)
            raise UsageError(f"the index {name} is empty", hint=f"local-rag index FOLDER --index {name}")
        if unanswerable:
            embedder.load()  # now, and not between two questions
        choice = choose_engine(settings, embedder, index)
        enter(settings.data_folder, "cases", file.path, index=settings.index_path)
        with closing(choice.engine):
            question_proposer = QuestionProposer(choice.engine) if isinstance(choice.engine, OllamaEngine) else None
            proposer = CaseProposals(index, file.cases, seed, question_proposer)
            total, label = count + unanswerable, index.path_labels()
            dialogue = CaseDialogue(file, proposer, console, total, keep_all, bool(question_proposer), label)
            dialogue.begin(choice, index)
            try:
                dialogue.run(proposer.mixed(count, unanswerable))
            finally:
                dialogue.end(settings)
    return 0


@dataclass
class CaseDialogue:
    """The proposals of one command: what was kept and dropped so far."""

    file: CaseFile
    proposer: CaseProposals
    console: Console
    total: int
    keep_all: bool = False
    by_model: bool = False
    label: PathLabel = short_path
    kept: int = 0
    dropped: int = 0
    shown: int = 0
    by_rules: int = 0
    """How many of the kept ones no model made."""
    exhausted: bool = False
    """Whether there were fewer proposals than asked for."""
    seed_helps: bool = False
    """Whether another seed brings other passages: in a small index all of them are looked at anyway."""

    def begin(self, choice: Choice, index: Index) -> None:
        """Say who proposes, and how many cases of the file are about other files than the index holds."""
        by_rules = ["proposals from definitions, figures and headings, without a language model", *choice.lines[1:]]
        for line in choice.lines if self.by_model else by_rules:
            self._say(line, "dim")
        files = [file.path for file in index.files()]
        self.seed_helps = len(files) > 1 and index.catalog().chunks > LOOKED
        if others := self.file.foreign_to(files):
            are = "is about files" if others == 1 else "are about files"
            cases = f"{plural(others, 'case')} in {short_path(self.file.path)}"
            self._say(f"note: {cases} {are} that this index does not hold", "yellow")
        if not self.keep_all:
            self._say("Each question is kept only if you say so; what is kept is saved at once.", "dim")

    def run(self, proposals: Iterator[Proposal]) -> None:
        """Show one proposal after the other until there are no more or the person has had enough."""
        while proposal := self._next(proposals):
            self.shown += 1
            if self.keep_all:
                self._say(f"{self.shown} of {self.total}: {proposal.case.question}", "dim")
                self._keep(proposal)
                continue
            self.console.print()
            for renderable in proposal_parts(proposal, f"{self.shown} of {self.total}", self.label):
                self.console.print(renderable)
            try:
                if self._decide(proposal) == "quit":
                    return
            except (EOFError, KeyboardInterrupt) as stop:
                self.console.print()  # the cursor stands behind what was typed
                if isinstance(stop, KeyboardInterrupt):
                    raise
                return
        self.exhausted = True

    def end(self, settings: Settings) -> None:
        """Say what came of it, and the next command."""
        for why, times in self.proposer.thrown.items():
            self._say(f"{plural(times, 'reply', 'replies')} of the model not shown: {why}", "dim")
        path, cases = short_path(self.file.path), plural(len(self.file.cases), "case")
        write(f"{self.kept} kept in {path}, {self.dropped} dropped; it has {cases} now")
        if self.exhausted and self.shown < self.total:
            another = " Another --seed may give others." if self.seed_helps else ""
            write(f"The index gave no more: {self.total - self.shown} fewer than asked for.{another}")
        if self.by_rules:
            write(RULES_NOTE)
        if self.file.cases:
            write(f"next: local-rag eval {shlex.quote(path)} --index {shlex.quote(settings.values.index)}")

    def _next(self, proposals: Iterator[Proposal]) -> Proposal | None:
        """The next proposal, for which a language model takes its time; then the notes of the proposer."""
        waiting = self.by_model and self.console.is_terminal
        with self.console.status(Text("the model reads a passage…")) if waiting else nullcontext():
            proposal = next(proposals, None)
        for note in self.proposer.notes:
            self._say(note, "yellow")
        self.proposer.notes.clear()
        return proposal

    def _decide(self, proposal: Proposal) -> Decision:
        """Ask until a key is typed that means something, and do it. Raises EOFError for Ctrl-D."""
        while (decision := _KEYS.get(self._typed("[k]eep  [e]dit  [d]rop  [q]uit  > ").lower())) is None:
            self._say("type k, e, d or q, then Enter", "dim")
        if decision == "drop":
            self.dropped += 1
        elif decision != "quit":
            self._keep(self._edited(proposal) if decision == "edit" else proposal)
        return decision

    def _typed(self, prompt: str) -> str:
        typed = self.console.input(prompt, markup=False, emoji=False)
        return printable(typed.encode("utf-8", "replace").decode()).strip()

    def _edited(self, proposal: Proposal) -> Proposal:
        """The question and the answer as the person types them; an empty line keeps what was there."""
        case = proposal.case
        question = self._typed("question (Enter keeps it): ") or case.question
        answers = case.answers
        if case.answerable:
            prompt = f"answer (Enter keeps it; {BETWEEN} between two that are both right): "
            answers = tuple(filter(None, map(str.strip, self._typed(prompt).split(BETWEEN)))) or answers
        proposal, is_quoted = edited(proposal, question, answers)
        if not is_quoted and answers != case.answers:
            self._say("the answer stands nowhere in the passage; the quote stays as it was", "yellow")
        return proposal

    def _keep(self, proposal: Proposal) -> None:
        if self.file.has(proposal.case.question):
            self.dropped += 1
            self._say("not kept: the file has that question already", "yellow")
            return
        self.file.append(proposal.case)
        self.kept += 1
        self.by_rules += proposal.kind in MADE_BY_RULES

    def _say(self, line: str, style: str = "") -> None:
        self.console.print(Text(line, style))
