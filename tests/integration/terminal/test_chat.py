"""Test the chat: lines from a pipe with scripted parts, and the real program on a pseudo-terminal."""

import io
import json
import re

import pytest
from support.asking import opened
from support.fakes import ScriptedEngine, during, time_is_up
from support.marks import posix
from support.processes import Terminal

from local_rag.cli.app import run
from local_rag.core.errors import EngineError, UsageError
from local_rag.terminal.chat import Chat, typed_conditions
from local_rag.terminal.console import TerminalDisplay, stderr
from local_rag.terminal.questions import QuestionRunner

pytestmark = pytest.mark.usefixtures("converted")


def scripted():
    """Return an engine that fails at a question with "broken", and is interrupted at one with "stop"."""

    def at(task):
        question = str(engine.asked[-1][1:2])
        if task == "relevance" and "broken" in question:
            raise EngineError("the model fell over", hint="ollama serve")
        if task == "relevance" and "stop" in question:
            raise KeyboardInterrupt

    engine = ScriptedEngine(at=at)
    return engine


PLAN, OTHER = "What does the plan cost?", "And the other?"
FOLLOWED = f"understood as: {OTHER} ({PLAN})"


@pytest.fixture
def talk(capsys, monkeypatch):
    def talk(*lines, engine=None, **options):
        """Return exit code, stdout and stderr of a chat that reads these lines from a pipe."""
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        with opened(engine or scripted()) as rag:
            code = Chat(QuestionRunner(rag, TerminalDisplay(stderr())), **options).run()
        return code, *capsys.readouterr()

    return talk


def test_each_line_of_a_pipe_is_a_question(talk):
    code, out, err = talk(PLAN, "", OTHER)
    source = '[1] /notes/1.md, "Passage 1 says that the plan costs 100 euros."'
    answer = "It costs 100 euros [1]."
    assert code == 0 and out.split("\n\n") == [answer, source, f"{FOLLOWED}\n{answer}", source, ""]
    assert re.search(r"^thread: \d{4}-\d\d-\d\d What does the plan cost$", err, re.MULTILINE)


def test_json_is_one_line_per_question_and_nothing_else_on_stdout(talk):
    lines = (PLAN, "/threads", "/help", "Is it broken?", "/nonsense at all", OTHER, "/quit", PLAN)
    code, out, err = talk(*lines, as_json=True, thread="plan")
    first, failed, last = map(json.loads, out.splitlines())
    assert (first["text"], first["thread"], first["status"]) == ("It costs 100 euros [1].", "plan", "grounded")
    assert failed == {"question": "Is it broken?", "error": "the model fell over", "hint": "ollama serve"}
    assert f"understood as: {last['asked']}" == FOLLOWED and code == 1
    assert "thread  turns" in err and "/quit" in err
    assert "error: there is no command /nonsense\nhint: /help lists them\n" in err


def test_bytes_that_are_no_text_are_asked_as_question_marks(talk):
    code, out, _ = talk("What does the \udcff plan cost?", as_json=True)
    assert (code, json.loads(out)["question"]) == (0, "What does the ? plan cost?")


def test_a_question_that_fails_does_not_end_the_chat(talk):
    code, out, err = talk("Is it broken?", PLAN)
    assert code == 1 and "error: the model fell over\nhint: ollama serve\n" in err
    assert "It costs 100 euros [1]." in out
    assert "thread: " in err, "the thread gets its name from the first question that is answered"


def test_a_thread_is_gone_on_with_and_its_last_sources_are_at_hand(talk):
    _, out, err = talk("/sources", PLAN, "/sources", thread="plan")
    assert "error: there is no answer yet" in err
    found, quote = out.splitlines()[-2:]
    assert re.fullmatch(r"\[1\] /notes/1.md, characters 0 to 45 \(.*\)", found)
    assert quote == '    "Passage 1 says that the plan costs 100 euros."'
    _, out, err = talk("/sources", OTHER, thread="plan")
    assert "thread: plan (1 question so far)" in err and FOLLOWED in out and out.splitlines()[:2] == [found, quote]
    _, out, _ = talk("What?", "/sources", engine=ScriptedEngine(relevant=["n"]))
    assert out.endswith("The last answer cites nothing.\n")


def test_new_begins_another_thread_and_threads_lists_and_changes_them(talk):
    lines = (PLAN, "/new lease", "And the rent?", "/threads", "/threads plan", OTHER, "/new plan", "/threads nothing")
    code, out, err = talk(*lines, thread="plan")
    assert "A new thread: lease." in out and "thread: plan (1 question so far)" in err
    assert "understood as: And the rent?" not in out, "nothing came before it in this thread"
    assert re.search(r"^\* lease +1 ", out, re.MULTILINE) and re.search(r"^  plan +1 ", out, re.MULTILINE)
    assert FOLLOWED in out and code == 1
    assert "error: there is a thread 'plan' already" in err
    assert "error: there is no thread 'nothing'; there are lease and plan\nhint: /threads lists them" in err


def test_from_goes_on_from_an_earlier_question_as_a_thread_of_its_own(talk):
    lines = ("/from 1", PLAN, OTHER, "/from 1", "/threads", "And the third?", "/from 9", "/from the start")
    code, out, err = talk(*lines)
    name = "\\S+ What does the plan cost"
    assert re.search(rf"^  {name} +2 ", out, re.MULTILINE) and re.search(rf"^\* {name} from 1 +1 ", out, re.MULTILINE)
    assert re.search(rf"^thread: {name} from 1 \(1 question so far\)$", err, re.MULTILINE)
    assert f"understood as: And the third? ({PLAN})" in out and code == 1
    for error in ("no question yet to go on", "has 2 turns, so there is no turn 9", "a question, not 'the start'"):
        assert error in err


def test_graph_shows_and_changes_the_graph(talk):
    engine = ScriptedEngine()
    _, out, err = talk("/graph", "/graph plain", "/graph raptor", "What?", engine=engine)
    assert out.startswith("graph: self-rag (/graph plain, crag or adaptive takes another)\ngraph: plain\n")
    assert "error: there is no graph 'raptor'\nhint: /graph plain|self-rag|crag|adaptive" in err
    assert not [call for call in engine.asked if call[0] == "grade"], "plain grades nothing"


def test_ctrl_c_ends_a_script(talk):
    with pytest.raises(KeyboardInterrupt):
        talk("Please stop", "What?")


def test_a_question_that_ran_out_of_time_is_said_to_be_forgotten(talk):
    _, out, err = talk("What?", "/threads", engine=during("relevance", time_is_up))
    assert "No answer: out of time" in out and "the thread does not remember this question" in err
    assert out.endswith("There are no threads yet.\n")


# --- the real program on a pseudo-terminal ------------------------------------------------------------------------

PROGRAM = """
import sys, time
from local_rag.cli import main
from local_rag.engines.extractive.engine import ExtractiveEngine
from local_rag.core import cancel
from local_rag.core.protocols import AnswerDelta
from local_rag.web.search import DdgsSearch

quick = ExtractiveEngine.answer

def answer(self, question, documents, attempt):
    while "slowly" in question:
        yield AnswerDelta("word ")
        time.sleep(0.05)
        cancel.check()
    yield from quick(self, question, documents, attempt)

ExtractiveEngine.answer = answer
DdgsSearch.search = lambda *_: sys.exit("the words have left")
main()
"""


@pytest.fixture
def chatting(home):
    """Return a function (*options) -> the chat at a terminal, about notes on a plan."""
    folder = home / "notes"
    folder.mkdir()
    (folder / "plan.md").write_text("# Plan\n\nThe greenhouse costs 4,200 euros. The fence was paid for in 2023.\n")
    assert run(["index", str(folder)]) == 0
    return lambda *options: Terminal(["chat", "--engine", "extractive", "--thread", "plan", *options], PROGRAM, folder)


@pytest.mark.slow
@posix  # pseudo-terminals are POSIX
def test_ctrl_c_stops_a_question_a_web_query_or_a_line_and_the_next_chat_has_what_was_answered(chatting):
    pytest.importorskip("readline")
    with chatting("--graph", "crag", "--web", "ask") as terminal:
        terminal.until("Ask, or type /help. Ctrl-D leaves.")
        terminal.until("> ")
        terminal.type("What does the greenhouse cost?\n")
        terminal.until("The greenhouse costs 4,200 euros. [1]")
        terminal.until("> ")

        terminal.type("What does the greenhouse slowly cost?\n")
        terminal.until("word word")
        terminal.type("\x03")
        terminal.until("stopped")
        terminal.until("> ")

        terminal.type("Who won the cup final in 1998?\n")
        terminal.until("may these words leave? [y/N]")
        terminal.interrupt_until("stopped")
        terminal.until("> ")

        terminal.type("half a li")
        terminal.until("half a li")
        terminal.interrupt_until("> ")
        terminal.type("/threads\n")
        terminal.until("began with")
        listed = terminal.until("> ")
        assert re.search(r"\* plan +1 ", listed), "no stopped question was kept"

        terminal.type("\x04")
        assert terminal.end() == 0
    with chatting() as terminal:
        terminal.until("thread: plan (1 question so far)")
        terminal.until("> ")
        terminal.type("\x1b[A")
        terminal.until("What does the greenhouse cost?")
        terminal.type("\n")
        terminal.until("The greenhouse costs 4,200 euros. [1]")
        terminal.until("> ")
        terminal.type("/quit\n")
        assert terminal.end() == 0


@pytest.mark.parametrize("typed", ["after:2023-99", "after:2024 before:2023", "before:soon", "size:3"])
def test_every_hint_is_a_command_of_the_chat(typed):
    with pytest.raises(UsageError) as caught:
        typed_conditions(typed)
    assert caught.value.hint.startswith("/only ") and "--" not in f"{caught.value}{caught.value.hint}"
    assert typed_conditions(caught.value.hint.removeprefix("/only "))
