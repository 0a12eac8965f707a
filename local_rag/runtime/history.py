"""Store every question that is asked in one database of the data folder.

A question is written when it starts, with its state. A chat is a list of turns that refer to questions, so that a fork
shares them. A record holds the events of a question, and a judgement a person's opinion of its answer. All of these
quote files; the table `cited` names the files.
"""

from __future__ import annotations

import json
import secrets
import shlex
import sqlite3
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, Literal

from local_rag.config.server_index import IndexAddress
from local_rag.config.settings import full_name
from local_rag.core.answer import Answer
from local_rag.core.errors import NotFound, UsageError, reason_of
from local_rag.core.serialization import from_plain, to_json
from local_rag.runtime.history_file import NO_DRAFT, SCOPE, UNANSWERED, WAITING, HistoryFile, not_ours
from local_rag.runtime.kept import (
    LONGEST_NAME,
    STATUSES,
    AnsweredTurn,
    Judgement,
    Kept,
    KeptRun,
    Line,
    QuestionState,
    RunSummary,
    Thread,
    Unanswered,
    in_words,
    thread_name,
)
from local_rag.text.display import joined, plural, those_there

LAST = "last"
"""The name, in place of an ID, for the run that began last."""
FIRST_WORDS = 6
"""The number of words of the first question in the default name of a chat."""
LONGEST_NOTE = 2000
"""The maximum characters of a note and of an expected answer."""
LETTERS = "23456789bcdfghjkmnpqrstvwxz"
"""The characters of an ID: no vowels, so that it is no word, and no characters that look alike."""

_UNUSED = """DELETE FROM questions WHERE conditions IS NULL AND state <> 'running'
    AND id NOT IN (SELECT question FROM turns) AND id NOT IN (SELECT question FROM judgements)"""
"""Delete the questions that no chat, record or judgement needs any more."""


class History(HistoryFile):
    """Store and read the history of a data folder.

    It serves several threads and processes; close it, or use it in a `with`.
    """

    # --- a question as it is asked

    def begin(
        self,
        question: str,
        *,
        thread: str = "",
        index: str = "",
        indexes: Sequence[str] = (),
        web_never: bool = False,
        conditions: Line | None = None,
        keep: int = 0,
        state: Literal["waiting", "running"] = "running",
        scope: Line | None = None,
    ) -> str:
        """Write a question that starts, at the end of its thread if it has one, and return its ID.

        If the same question is `waiting` in the thread, the new entry replaces that one and keeps its time and its
        `scope`, which is what it is asked of. With `conditions` the question is recorded, and the oldest records are
        deleted until at most `keep` remain.
        """
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._writing():
            known = {row[0] for row in self._rows("SELECT id FROM questions")}
            while (id_ := "".join(secrets.choice(LETTERS) for _ in range(4))) in known:
                pass
            recorded = conditions and to_json(conditions, None)
            taken = self._rows(WAITING, question, thread) if state == "running" else []
            waiting, at = taken[0] if taken else ("", at)
            about = (id_, at, state, question, index, json.dumps(indexes), web_never, recorded)
            columns = "id, at, state, question, index_name, indexes, web_never, conditions"
            self._run(f"INSERT INTO questions ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *about)
            if scope:
                self._run("INSERT INTO scopes VALUES (?, ?)", id_, to_json(scope, None))
            self._run("UPDATE scopes SET question = ? WHERE question = ?", id_, waiting)
            self._run("DELETE FROM questions WHERE id = ?", waiting)
            if thread:
                last = "(SELECT coalesce(max(position), 0) + 1 FROM turns WHERE thread = ?)"
                self._run(f"INSERT INTO turns VALUES (?, {last}, ?)", thread, thread, id_)
            if conditions is not None:
                sql = "SELECT id FROM questions WHERE conditions IS NOT NULL ORDER BY at DESC, rowid DESC"
                self._forget_records([row[0] for row in self._rows(f"{sql} LIMIT -1 OFFSET ?", keep)])
        return id_

    def add(self, run: str, line: Line | None, sources: Collection[str] = ()) -> None:
        """Add a line to the record of a question, and the files that it names; a new draft replaces the old one.

        The line is stored even if the process is killed. A question that was deleted meanwhile stays deleted.
        """
        with self._writing(), suppress(sqlite3.IntegrityError):
            if line is not None:
                if line["event"] == "draft":
                    self._run(NO_DRAFT, run)
                self._run("INSERT INTO records VALUES (?, ?)", run, to_json(line, None))
            for source in sources:
                self._run("INSERT OR IGNORE INTO cited VALUES (?, ?)", run, source)

    def end(
        self,
        run: str,
        state: QuestionState,
        seconds: float = 0.0,
        answer: Answer | None = None,
        *,
        shown: Sequence[str] = (),
        error: str = "",
        hint: str = "",
    ) -> None:
        """Write how a question ended; an answered question moves to the end of its thread.

        A question without record and chat is deleted. After an answer, the draft is deleted.
        """
        with self._writing():
            kept = answer and to_json(replace(answer, run="", thread=""), None)
            sql = "UPDATE questions SET state = ?, seconds = ?, answer = ?, shown = ?, error = ?, hint = ? WHERE id = ?"
            self._run(sql, state, seconds, kept, json.dumps(list(shown)), error, hint, run)
            if state == "done":
                last = "(SELECT max(position) + 1 FROM turns AS others WHERE others.thread = turns.thread)"
                self._run(f"UPDATE turns SET position = {last} WHERE question = ?", run)
            if answer:
                self._run(NO_DRAFT, run)
            unused = "id NOT IN (SELECT question FROM turns)"
            self._run(f"DELETE FROM questions WHERE id = ? AND conditions IS NULL AND {unused}", run)

    def forget_record(self, run: str) -> None:
        """Delete the record of a question that could not be written to its end."""
        with self._writing():
            self._forget_records([run])

    def before(self, thread: str) -> list[dict[str, Any]]:
        """Return the turns of a thread as the input of a graph, which needs them to understand the next question."""
        sql = """json_object('question', questions.question, 'asked', json_extract(answer, '$.asked'), 'answer',
            json_extract(answer, '$.text'), 'language', json_extract(answer, '$.language'), 'shown', json(shown),
            'indexes', json(indexes), 'web_never', web_never)"""
        return [json.loads(turn) for (turn,) in self._answered(thread, sql)]

    # --- chats

    def threads(self, *, begun: bool = False) -> Sequence[Thread]:
        """Return every chat, the last used first; with `begun` also chats without any answered question."""
        first = """SELECT questions.question FROM turns AS each JOIN questions ON id = each.question
            WHERE each.thread = turns.thread ORDER BY position LIMIT 1"""
        sql = f"""SELECT thread, sum(state = 'done') AS answered, ({first}), max(at) AS last
            FROM turns JOIN questions ON id = turns.question GROUP BY thread HAVING ? OR answered
            ORDER BY last DESC, thread"""
        return [Thread(*row) for row in self._rows(sql, begun)]

    def thread(self, name: str) -> Thread:
        """Return one chat; raise UsageError if there is none of that name."""
        name = unicodedata.normalize("NFC", name)
        for thread in self.threads(begun=True):
            if thread.name == name:
                return thread
        raise NotFound(f"there is no thread {name!r}; {those_there(self.names())}", hint="local-rag threads")

    def unanswered(self) -> dict[str, list[Unanswered]]:
        """Return, by chat, the questions that have no answer and were not asked again, the oldest first."""
        found: dict[str, list[Unanswered]] = {}
        for thread, *about in self._rows(UNANSWERED):
            found.setdefault(thread, []).append(Unanswered(*about))
        return found

    def names(self) -> Sequence[str]:
        """Return the names of all chats, sorted."""
        return [row[0] for row in self._rows("SELECT DISTINCT thread FROM turns ORDER BY thread")]

    def turns(self, name: str, upto: int | None = None) -> Sequence[AnsweredTurn]:
        """Return the answered questions of a chat, oldest first, or only the first `upto`.

        Raise UsageError for a chat or a turn that does not exist.
        """
        name = thread_name(name)
        rows = self._answered(name, f"id, at, answer, indexes, conditions IS NOT NULL, {SCOPE}")
        if not rows:
            self.thread(name)
        if upto is not None and not 1 <= upto <= len(rows):
            raise UsageError(
                f"the thread {name!r} has {plural(len(rows), 'turn')}, so there is no turn {upto}",
                hint=f"local-rag threads show {shlex.quote(name)}   shows them",
            )
        return [
            AnsweredTurn(id_, at, self._answer(text, id_ if kept else "", name), (*json.loads(of),), json.loads(scope))
            for id_, at, text, of, kept, scope in rows[:upto]
        ]

    def saying(self, words: Sequence[str]) -> set[str]:
        """Return the chats in which a question and its answer hold all of these words."""
        each = "instr(lower(questions.question || ' ' || coalesce(json_extract(answer, '$.text'), '')), lower(?))"
        every = " AND ".join([each] * len(words)) or "FALSE"
        sql = f"SELECT DISTINCT thread FROM turns JOIN questions ON id = turns.question WHERE {every}"
        return {thread for (thread,) in self._rows(sql, *words)}

    def scope(self, thread: str) -> Line:
        """Return what the last question of a chat was asked of."""
        sql = (
            f"SELECT {SCOPE} FROM turns JOIN questions ON id = turns.question WHERE thread = ? ORDER BY at DESC LIMIT 1"
        )
        return next((json.loads(scope) for (scope,) in self._rows(sql, thread)), {})

    def fork(self, name: str, upto: int) -> str:
        """Copy the first `upto` turns of a chat into a new chat, and return its name.

        Raise UsageError as `turns` does.
        """
        turns = self.turns(name, upto)
        with self._writing():
            fork = self._free(f"{thread_name(name)} from {upto}"[: LONGEST_NAME - 5].strip())
            for position, turn in enumerate(turns, start=1):
                self._run("INSERT INTO turns VALUES (?, ?, ?)", fork, position, turn.run)
        return fork

    def rename(self, name: str, new: str) -> str:
        """Give a chat another name, and return the name in the form in which it is stored.

        Raise UsageError for a chat that does not exist, and for a name that is invalid or taken.
        """
        name, new = thread_name(name), thread_name(new)
        self.thread(name)
        if new != name:
            with self._writing():
                if new in self.names():
                    raise UsageError(f"there is a thread {new!r} already", hint="local-rag threads   lists them")
                self._run("UPDATE turns SET thread = ? WHERE thread = ?", new, name)
        return new

    def fresh(self, question: str) -> str:
        """Return an unused name for a chat that begins with this question: the date and the question's first words."""
        text = "".join(ch if in_words(ch) else " " for ch in unicodedata.normalize("NFC", question))
        base = f"{datetime.now():%Y-%m-%d} {' '.join(text.split()[:FIRST_WORDS])}"[: LONGEST_NAME - 5].strip()
        return thread_name(self._free(base))

    # --- runs

    def runs(
        self, *, index: IndexAddress | None = None, status: str = "", last: int | None = None
    ) -> Sequence[RunSummary]:
        """Return the recorded questions, the last one first.

        `index` and `status` select runs, and `last` limits their number. Raise UsageError for an unknown status.
        """
        if status and status not in STATUSES:
            raise UsageError(
                f"a status is {joined(STATUSES, 'or')}, not {status!r}", hint="local-rag runs --status failed"
            )
        sql = """SELECT id, at, question, json_extract(conditions, '$.graph'),
            json_extract(conditions, '$.engine.name'), index_name,
            coalesce(json_extract(answer, '$.status'), state) AS status, seconds,
            coalesce(json_extract(answer, '$.reason'), error),
            coalesce((SELECT thread FROM turns WHERE question = questions.id ORDER BY rowid LIMIT 1), ''),
            coalesce(json_extract(answer, '$.certainty'), '')
            FROM questions WHERE conditions IS NOT NULL AND (? = '' OR status = ?)
            AND (? = '' OR ? IN (SELECT value FROM json_each(indexes))) ORDER BY at DESC, rowid DESC LIMIT ?"""
        folder = "" if index is None else full_name(index)
        rows = self._rows(sql, status, status, folder, folder, -1 if last is None else last)
        return [RunSummary(*row) for row in rows]

    def run(self, name: str) -> KeptRun:
        """Return the run with this ID or unique beginning of an ID, or with `last` the last run; raise UsageError."""
        (id_,) = self.ids([name])
        summary = {run.id: run for run in self.runs()}[id_]
        ((conditions, answer, hint),) = self._rows("SELECT conditions, answer, hint FROM questions WHERE id = ?", id_)
        lines = self._rows("SELECT line FROM records WHERE question = ? ORDER BY rowid", id_)
        record = [json.loads(line) for (line,) in lines]
        kept = self._answer(answer, id_, summary.thread) if answer else None
        return KeptRun(**vars(summary), conditions=json.loads(conditions), lines=record, answer=kept, hint=hint)

    def ids(self, names: Collection[str]) -> Sequence[str]:
        """Return the IDs of the runs that a person names, as for `run`, each once; raise UsageError."""
        known = [run.id for run in self.runs()]
        if not known:
            raise NotFound("there are no runs yet", hint='local-rag ask "What does the contract say about notice?"')
        return list(dict.fromkeys(_matching(name, known) for name in names))

    # --- judgements

    def judge(
        self, run: str, good: bool, note: str = "", *, expected: str = "", unanswerable: bool = False
    ) -> Judgement:
        """Store a judgement of the answer of a run, in place of an earlier one; `run` names it as in `run()`.

        Raise UsageError for a run that does not exist or has no answer, for a note that is too long, and for an
        expected answer to a question that the files do not answer.
        """
        note, expected = (text.encode("utf-8", "replace").decode().strip() for text in (note, expected))
        for name, text in (("note", note), ("expected answer", expected)):
            if len(text) > LONGEST_NOTE:
                raise UsageError(f"the {name} has {len(text):,} characters, and at most {LONGEST_NOTE:,} are kept")
        if expected and unanswerable:
            raise UsageError("what the files do not answer has no expected answer", hint="leave one of them out")
        kept = self.run(run)
        if kept.answer is None:
            raise UsageError(f"the run {kept.id} has no answer ({kept.status})", hint=f"local-rag runs show {kept.id}")
        at = datetime.now(UTC).isoformat(timespec="seconds")
        with self._writing():
            about = (kept.id, at, good, note, expected, unanswerable)
            self._run("INSERT OR REPLACE INTO judgements VALUES (?, ?, ?, ?, ?, ?)", *about)
        judged = self.judgement(kept.id)
        assert judged is not None
        return judged

    def judgements(self, run: str = "") -> Sequence[Judgement]:
        """Return all judgements, those on the latest questions first, or the one on one run."""
        sql = """SELECT id, judgements.at, good, note, expected, unanswerable, questions.question, indexes, answer,
            index_name FROM judgements
            JOIN questions ON questions.id = judgements.question WHERE ? IN ('', id)
            ORDER BY questions.at DESC, questions.rowid DESC"""
        judged = []
        for id_, at, good, note, expected, unanswerable, question, indexes, text, index in self._rows(sql, run):
            answer, folder = self._answer(text, id_, ""), next(iter(json.loads(indexes)), "")
            about = (bool(good), note, expected, bool(unanswerable), answer.asked or question, index, folder, answer)
            judged.append(Judgement(id_, at, *about))
        return judged

    def judgement(self, run: str) -> Judgement | None:
        """Return the judgement of the answer of the run with this ID, or None."""
        return next(iter(self.judgements(run)), None)

    # --- what quotes files, and how it goes

    def quoting(self) -> Iterator[Kept]:
        """Yield all chats, recorded questions and judgements, with the indexes they asked and the files they name."""
        sql = """WITH kept(kind, name, at, question) AS (
            SELECT 'chat', thread, at, id FROM turns JOIN questions ON id = turns.question
            UNION ALL SELECT 'question', id, at, id FROM questions WHERE conditions IS NOT NULL
            UNION ALL SELECT 'feedback', question, at, question FROM judgements)
            SELECT kind, name, max(kept.at), json_group_array(DISTINCT folder.value), json_group_array(DISTINCT source)
            FROM kept JOIN questions ON questions.id = kept.question LEFT JOIN json_each(indexes) AS folder
            LEFT JOIN cited ON cited.question = questions.id GROUP BY kind, name ORDER BY 3"""
        for kind, name, at, folders, sources in self._rows(sql):
            indexes, named = (sorted(filter(None, json.loads(each))) for each in (folders, sources))
            yield Kept(kind, name, at, tuple(indexes), tuple(named))
        for id_, at, folder, source in self._rows("SELECT id, at, folder, source FROM of_files ORDER BY at"):
            yield Kept("file answer", str(id_), at, (folder,), (source,))

    def delete(
        self,
        *,
        threads: Collection[str] = (),
        runs: Collection[str] = (),
        judgements: Collection[str] = (),
        of_files: Collection[str] = (),
    ) -> Sequence[str]:
        """Delete chats with the records of their questions, records by ID, judgements, and what is kept of files.

        All in one transaction.

        Return the IDs of the deleted runs. What a chat, a record or a judgement still needs is kept; nothing of the
        rest remains in the file. Raise UsageError for a chat that does not exist, before anything is deleted.
        """
        threads = [self.thread(name).name for name in threads]
        with self._writing():
            recorded = {run.id for run in self.runs()}
            for name in threads:
                asked = self._rows("SELECT question FROM turns WHERE thread = ?", name)
                self._run("DELETE FROM turns WHERE thread = ?", name)
                for (id_,) in asked:
                    self._run("DELETE FROM questions WHERE id = ? AND id NOT IN (SELECT question FROM turns)", id_)
            for id_ in judgements:
                self._run("DELETE FROM judgements WHERE question = ?", id_)
            for id_ in of_files:
                self._run("DELETE FROM of_files WHERE id = ?", id_)
            self._forget_records(runs)
            left = {run.id for run in self.runs()}
        self._rows("PRAGMA wal_checkpoint(TRUNCATE)")  # so that the write-ahead log keeps nothing of it
        return sorted(recorded - left)

    def delete_of_index(self, index: IndexAddress) -> int:
        """Delete records, judgements and kept answers of files that asked an index; return the number of deleted
        records.
        """
        sql = "SELECT id FROM questions WHERE ? IN (SELECT value FROM json_each(indexes))"
        ids = [row[0] for row in self._rows(sql, full_name(index))]
        of_files = [row[0] for row in self._rows("SELECT id FROM of_files WHERE folder = ?", full_name(index))]
        return len(self.delete(runs=ids, judgements=ids, of_files=of_files))

    # --- rows

    def _answered(self, thread: str, columns: str) -> list[tuple[Any, ...]]:
        """Return columns of the answered questions of a thread, in their order."""
        sql = f"SELECT {columns} FROM turns JOIN questions ON id = turns.question WHERE thread = ? AND state = 'done'"
        return self._rows(f"{sql} ORDER BY position", thread)

    def _forget_records(self, ids: Collection[str]) -> None:
        for id_ in ids:
            self._run("DELETE FROM records WHERE question = ?", id_)
            self._run("UPDATE questions SET conditions = NULL WHERE id = ?", id_)
        self._run(_UNUSED)

    def _answer(self, text: str, run: str, thread: str) -> Answer:
        try:
            return replace(from_plain(Answer, json.loads(text)), run=run, thread=thread)
        except ValueError as error:
            raise not_ours(self.path, f"an answer in it cannot be read: {reason_of(error)}") from error

    def _free(self, base: str) -> str:
        """Return the name itself, or the name with the first number that makes it unused."""
        taken, names = self.names(), (base if number == 1 else f"{base} {number}" for number in count(1))
        return next(name for name in names if name not in taken)


def _matching(name: str, ids: Sequence[str]) -> str:
    """Return the ID that a person means; `ids` begin with the last run."""
    if name == LAST:
        return ids[0]
    matching = [id_ for id_ in ids if name and id_.startswith(name.lower())]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise NotFound(f"{name!r} begins {len(matching)} IDs", hint=f"local-rag runs show {matching[0]}")
    raise NotFound(f"there is no run {name!r}", hint="local-rag runs")
