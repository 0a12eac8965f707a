"""`local-rag eval make`: questions about a person's own index, each shown with its passage, to keep, edit or drop."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from local_rag.config.settings import Settings
from local_rag.core.errors import UsageError
from local_rag.evaluation.making.case_file import CaseFile
from local_rag.evaluation.making.proposals import LOOKED, MADE_BY_RULES, Proposal, Proposer, named
from local_rag.evaluation.making.wording import located, sentence_at
from local_rag.runtime.engine_choice import Choice, choose_engine
from local_rag.runtime.rag import open_embedder, open_index
from local_rag.terminal.progress import TerminalDisplay
from local_rag.terminal.proposal import BETWEEN, answer_text, excerpt, place_line
from local_rag.terminal.show import write
from local_rag.text.display import plural, printable, short_path

if TYPE_CHECKING:
    from rich.console import Console

    from local_rag.engines.ollama.judge import Examiner

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
    if count < 0 or unanswerable < 0 or not count + unanswerable:
        raise UsageError("nothing is to be proposed", hint="local-rag eval make CASES.jsonl --count 20")
    if not keep_all and not (console.is_terminal and sys.stdin.isatty()):
        raise UsageError(
            "there is no terminal to ask in what to keep",
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
        with closing(choice.engine):
            examiner = _examiner(choice)
            _say_who(console, choice, examiner)
            proposer = Proposer(index, file.cases, seed, examiner)
            made = _Making(file, proposer, console, count, unanswerable, keep_all, examiner is not None)
            made.begin([one.path for one in index.files()], index.catalog().chunks)
            try:
                made.run()
            finally:
                made.tell(settings)
    return 0


def _examiner(choice: Choice) -> Examiner | None:
    from local_rag.engines.ollama.engine import OllamaEngine
    from local_rag.engines.ollama.judge import Examiner

    return Examiner(choice.engine) if isinstance(choice.engine, OllamaEngine) else None


def _say_who(console: Console, choice: Choice, examiner: Examiner | None) -> None:
    """Who proposes, and for `auto` why."""
    if examiner:
        lines = choice.lines
    else:
        lines = ["proposals from definitions, figures and headings, without a language model", *choice.lines[1:]]
    for line in lines:
        console.print(printable(line), style="dim", markup=False, highlight=False, soft_wrap=True)


@dataclass
class _Making:
    """One run: what was kept and dropped so far."""

    file: CaseFile
    proposer: Proposer
    console: Console
    count: int
    unanswerable: int
    keep_all: bool
    slow: bool
    kept: int = 0
    dropped: int = 0
    shown: int = 0
    by_rules: int = 0
    """How many of what was kept no model made."""
    ended: bool = False
    """Whether there were fewer proposals than asked for."""
    seed_helps: bool = False
    """Whether another seed brings other passages: in a small index all of them are looked at anyway."""

    def begin(self, files: Sequence[str], passages: int) -> None:
        """Say what is odd about this file of cases and these files of the index, which has so many passages."""
        self.seed_helps = len(files) > 1 and passages > LOOKED
        if others := self.file.foreign_to(files):
            where = short_path(self.file.path)
            are = "is about files" if others == 1 else "are about files"
            self._say(f"note: {plural(others, 'case')} in {where} {are} that this index does not hold", "yellow")

    def run(self) -> None:
        """Show one proposal after the other until there are no more or the person has had enough."""
        if not self.keep_all:
            self._say("Each question is kept only if you say so; what is kept is saved at once.", "dim")
        for proposal in self._proposals():
            self.shown += 1
            if self.keep_all:
                self._say(f"{self.shown} of {self.count + self.unanswerable}: {proposal.case.question}", "dim")
                self._keep(proposal)
                continue
            self._show(proposal)
            try:
                decision = self._decide(proposal)
            except EOFError:
                self.console.print()
                return
            except KeyboardInterrupt:
                self.console.print()  # the cursor stands behind what was typed
                raise
            if decision == "quit":
                return

    def tell(self, settings: Settings) -> None:
        """What came of it, and the next command."""
        missing = self.count + self.unanswerable - self.shown
        for why, times in self.proposer.thrown.items():
            self._say(f"{plural(times, 'reply', 'replies')} of the model not shown: {why}", "dim")
        where = short_path(self.file.path)
        write(
            printable(
                f"{self.kept} kept in {where}, {self.dropped} dropped; "
                f"it has {plural(len(self.file.cases), 'case')} now"
            )
        )
        if self.ended and missing > 0:
            another = " Another --seed may give others." if self.seed_helps else ""
            write(f"The index gave no more: {missing} fewer than asked for.{another}")
        if self.by_rules:
            write(RULES_NOTE)
        if self.file.cases:
            write(printable(f"next: local-rag eval {shlex.quote(where)} --index {shlex.quote(settings.values.index)}"))

    def _proposals(self) -> Iterator[Proposal]:
        """Both kinds, mixed as evenly as their numbers are, so that a set that is left early is of use.

        Where there are fewer with an answer than asked for, those without one are fewer in proportion.
        """
        sources = {"answered": self.proposer.answered(), "unanswered": self.proposer.unanswered()}
        left = {"answered": self.count, "unanswered": self.unanswerable}
        wanted = dict(left)
        while any(left.values()):
            kind = max((one for one in left if left[one]), key=lambda one: left[one] / wanted[one])
            with self._waiting():
                proposal = next(sources[kind], None)
            self._pass_on()
            if proposal is None:
                if kind == "answered":
                    shown = wanted["unanswered"] - left["unanswered"]
                    share = 1 - left["answered"] / wanted["answered"]
                    left["unanswered"] = max(0, ceil(share * wanted["unanswered"]) - shown)
                left[kind], self.ended = 0, True
                continue
            left[kind] -= 1
            yield proposal

    def _pass_on(self) -> None:
        for note in self.proposer.notes:
            self._say(note, "yellow")
        self.proposer.notes.clear()

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """A language model takes its time."""
        if self.slow and self.console.is_terminal:
            with self.console.status("the model reads a passage…"):
                yield
        else:
            yield

    # --- what is shown

    def _show(self, proposal: Proposal) -> None:
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        case, total = proposal.case, self.count + self.unanswerable
        self.console.print()
        about = "your files answer it" if case.answerable else "your files should not answer it"
        head = Text.assemble(
            (f"{self.shown} of {total}", "bold"), (f"  {about}", "cyan" if case.answerable else "yellow")
        )
        self.console.print(head)
        if proposal.passage is not None:
            before = "" if case.answerable else "nearest passage: "
            self.console.print(Text(before + place_line(proposal), style="dim"))
            self.console.print(Padding(excerpt(proposal), (0, 2, 0, 2)))
        rows = Table.grid(padding=(0, 2))
        rows.add_column(no_wrap=True, style="bold")
        rows.add_column(overflow="fold")
        rows.add_row("Question", Text(printable(case.question), style="bold"))
        rows.add_row("Answer", answer_text(proposal))
        self.console.print(rows)

    def _decide(self, proposal: Proposal) -> Decision:
        """Ask until a key is typed that means something, and do it. Raises EOFError for Ctrl-D."""
        while True:
            typed = self._typed("[k]eep  [e]dit  [d]rop  [q]uit  > ").lower()
            decision = _KEYS.get(typed)
            if decision is None:
                self._say("type k, e, d or q, then Enter", "dim")
                continue
            if decision == "keep":
                self._keep(proposal)
            elif decision == "edit":
                self._keep(self._edited(proposal))
            elif decision == "drop":
                self.dropped += 1
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
            asked = f"answer (Enter keeps it; {BETWEEN} between two that are both right): "
            typed = tuple(part.strip() for part in self._typed(asked).split(BETWEEN) if part.strip())
            answers = typed or answers
        case = replace(case, id=named(question), question=question, answers=answers, note=f"{case.note}, edited")
        edited = _requoted(replace(proposal, case=case))
        if edited is None and answers != proposal.case.answers:
            self._say("the answer stands nowhere in the passage; the quote stays as it was", "yellow")
        return edited or replace(proposal, case=case)

    def _keep(self, proposal: Proposal) -> None:
        if self.file.has(proposal.case.question):
            self.dropped += 1
            self._say("not kept: the file has that question already", "yellow")
            return
        self.file.append(proposal.case)
        self.kept += 1
        self.by_rules += proposal.kind in MADE_BY_RULES

    def _say(self, line: str, style: str = "") -> None:
        self.console.print(
            printable(line), style=style, markup=False, highlight=False, soft_wrap=not self.console.is_terminal
        )


def _requoted(proposal: Proposal) -> Proposal | None:
    """With the sentence that holds the new answer, where another one of the passage does; None where none does."""
    case = proposal.case
    if proposal.passage is None or not (case.relevant and case.answers):
        return proposal
    text = proposal.passage.page_content
    if any(located(answer, case.relevant[0].quote) for answer in case.answers):
        return proposal
    found = next((span for answer in case.answers if (span := located(answer, text))), None)
    if found is None:
        return None
    quote = " ".join(sentence_at(text, found).of(text).split())
    return replace(proposal, case=replace(case, relevant=(replace(case.relevant[0], quote=quote),)))
