"""Test the chats: what is stored and what is not, and how they are listed, shown, exported and deleted."""

import threading

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from support.asking import opened
from support.fakes import ScriptedEngine, during, time_is_up
from support.graph_runs import final_state
from support.screen import shown

from local_rag.core.answer import Answer, Citation
from local_rag.core.errors import EngineError, UsageError
from local_rag.runtime.export import chat_markdown
from local_rag.runtime.history import History
from local_rag.runtime.kept import LONGEST_NAME, AnsweredTurn, Thread, thread_name
from local_rag.terminal.answers import threads_table


def questions(rag, thread):
    return [turn.answer.question for turn in rag.history.turns(thread)]


def test_a_follow_up_is_made_whole_and_the_answers_are_kept_whole():
    rag = opened()
    rag.ask("What does the plan cost?", thread="plan")
    answer = rag.ask("And the other?", thread="plan")
    assert answer.asked == "And the other? (What does the plan cost?)" == rag.corpus.queries[-1][0]
    assert rag.history.turns("plan")[-1].answer == answer


def test_an_answer_that_was_found_right_before_the_deadline_stands_and_is_kept():
    rag = opened(during("grade", time_is_up))
    answer = rag.ask("What does the plan cost?", thread="plan")
    assert (answer.status, answer.text) == ("grounded", "It costs 100 euros [1].")
    assert rag.history.turns("plan")[0].answer.status == "grounded"


def test_a_checkpointer_of_ones_own_remembers_too_and_survives_a_failure():
    from langgraph.checkpoint.memory import InMemorySaver

    engine = ScriptedEngine()
    rag = opened(engine)
    app = rag.graph("self-rag", checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}

    def ask(question):
        return final_state(app, rag.context(), question, config)

    ask("What does the plan cost?")
    engine.broken = True
    with pytest.raises(EngineError):
        ask("What does the fence cost?")
    engine.broken = False
    state = ask("And the other?")
    assert [turn["question"] for turn in state["turns"]] == ["What does the plan cost?", "And the other?"]
    assert state["turns"][-1]["asked"] == "And the other? (What does the plan cost?)"
    assert state["tries"] == {"generations": 1}
    assert rag.history.threads() == []


def test_two_questions_at_once_in_one_thread_lose_no_turn():
    begun, go_on = threading.Event(), threading.Event()

    def wait():
        begun.set()
        assert go_on.wait(60)

    first, second = opened(during("grade", wait)), opened()
    second.ask("What does the plan cost?", thread="plan")
    slow = threading.Thread(target=first.ask, args=("What does the fence cost?",), kwargs={"thread": "plan"})
    slow.start()
    assert begun.wait(60)
    second.ask("What does the gate cost?", thread="plan")
    go_on.set()
    slow.join()
    for rag in (first, second):
        kept = questions(rag, "plan")
        assert kept == ["What does the plan cost?", "What does the gate cost?", "What does the fence cost?"]


@pytest.mark.parametrize(
    "name",
    ["lease", "lease 2026", "a.b_c-d", "Überweisung", "प्रश्न", "Harbour Street: lease", "a/b", "x" * LONGEST_NAME],
)
def test_names_that_threads_may_have(name):
    assert thread_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", " ", "..", " a", "a ", "a\nb", "a\u200bb", "a\u3164b", "a\x1b[31m", "x" * (LONGEST_NAME + 1), "a\u202eb"],
)
def test_names_that_threads_may_not_have(name):
    with pytest.raises(UsageError, match="a thread is named with letters") as caught:
        opened().ask("What?", thread=name)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    with History.open(tmp_path_factory.mktemp("history")) as history:
        yield history


@given(st.text(max_size=200))
def test_a_fresh_name_is_always_a_name(empty, question):
    name = empty.fresh(question)
    assert thread_name(name) == name


def test_fresh_names_are_the_date_and_the_first_words_and_never_taken():
    rag = opened()
    name = rag.history.fresh("What does the plan cost, all in all, by the end?")
    assert name.endswith(" What does the plan cost all")
    rag.ask("What?", thread=name)
    assert rag.history.fresh("What does the plan cost, all in all?") == f"{name} 2"


@pytest.mark.parametrize(("width", "columns"), [(None, 4), (100, 4), (60, 4), (40, 3)])
def test_a_list_of_threads_fits_the_terminal(width, columns):
    at = "2026-03-01T10:00:00"
    threads = [Thread("lease 2026", 2, "What " * 11, at), Thread("b", 1, "Why?", at)]
    lines = shown(threads_table(threads, "b"), width=width)
    assert width is None or max(map(len, lines)) <= width
    assert ("began with" in lines[0]) == (columns == 4)
    assert [line[0] for line in (lines[1], lines[-1])] == [" ", "*"]


PLAIN = {*"heading paragraph bullet list inline text softbreak em strong".split()}
OF_AN_ANSWER = {*"code fence ordered blockquote table thead tbody tr th td s hr hardbreak".split()}


def rendered_text(page, allowed):
    """Return the words that a reader sees, after checking that the page has only these kinds of markup."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(page)
    every = [*tokens, *(child for token in tokens for child in token.children or ())]
    assert {token.type.split("_")[0] for token in every} <= allowed
    assert [token.tag for token in tokens if token.type == "heading_open"].count("h2") == 1
    return "".join("".join(token.content for token in every if token.type != "inline").split())


HOSTILE = st.text(alphabet=st.sampled_from("ab1 .)#>-+*_`~[]()!<&;|\\\n=:/$@'\"h"), min_size=1, max_size=60)


@settings(max_examples=3 * settings().max_examples)
@given(HOSTILE)
@example("`` a`<b>c ``")
@example("```` \n```\n<b>\n````")
@example("|a|b|\n|-|-|\n|`a\\|<b>`|c|")
@example("\n```a\n<b>")
def test_no_text_of_a_file_breaks_the_page(text):
    """Check that Markdown of a model is kept, and that nothing in it is active."""
    quoted = Citation(1, f"/n/{text}.md", None, text, text, 0, 1, "", True)
    for said, allowed in (("x", PLAIN), (f"x {text}\n{text}", PLAIN | OF_AN_ANSWER)):
        answer = Answer(f"q {text}", said, "grounded", citations=(quoted,))
        page = chat_markdown("name", [AnsweredTurn("k3x7", "2026-01-02T03:04:05.000+00:00", answer)])
        seen = rendered_text(page, allowed)
        for part in (answer.question, text):
            assert "".join(part.split()) in seen
