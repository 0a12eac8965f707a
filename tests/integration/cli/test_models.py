"""Test `local-rag models`: the list, a download through Ollama, and the tasks of an engine, on a server on loopback."""

import io
import json
import os
import re
import signal
import subprocess
import sys

import pytest
from support.garden import GREENHOUSE
from support.marks import posix
from support.ollama_server import Model, cut, error, raw, say
from support.screen import shown

from local_rag.config.calibrated import GRADES
from local_rag.config.settings import Settings
from local_rag.diagnostics.models import fits_memory, model_report, pull_models
from local_rag.diagnostics.trial import ANSWER, PAIRS
from local_rag.terminal.console import SafeConsole, TerminalDisplay
from local_rag.terminal.diagnostics import model_parts

pytestmark = pytest.mark.usefixtures("converted")

GIGABYTE = 1_000_000_000
SMALL = Model(size=1_000_000, window=16_384)


@pytest.fixture
def there(ollama, monkeypatch):
    """Return a server at the address of OLLAMA_HOST, with a small model that is named for every role."""
    ollama.models = {"tiny:latest": SMALL}
    monkeypatch.setenv("LOCAL_RAG_MODEL", "tiny")
    return ollama


AFAR = Model(size=400, remote_host="https://ollama.com:443", remote_model="big")


def asked(ollama):
    return {request.path for request in ollama.requests}


# --- the list ---------------------------------------------------------------------------------------------------------


def test_the_list_knows_what_is_offered_installed_loaded_and_remote(there, said):
    there.models |= {"llama3.2:3b": Model(), "afar:latest": AFAR}
    there.script(error(500, "it was loaded before"))
    said("models try llama3.2:3b", 1)
    there.requests.clear()
    report = said.json("models --profile 16gb")
    rows = {row["name"]: row for row in report["models"]}
    assert (report["profile"], report["why"], report["in_use"]) == ("16gb", "named by --profile", ["tiny"])
    assert (report["server"], report["version"], report["problem"]) == (there.host, there.version, "")
    llama, mistral, afar = rows["llama3.2:3b"], rows["mistral:latest"], rows["afar:latest"]
    assert (llama["offered"], llama["installed"], llama["download"]) == (True, 2 * GIGABYTE, 2 * GIGABYTE)
    assert (llama["loaded"], llama["window"], llama["memory"]) == (True, 8192, 3_400_000_000)
    assert (mistral["installed"], mistral["loaded"], mistral["window"]) == (None, False, None)
    assert (afar["offered"], afar["remote_host"], afar["refused"]) == (False, AFAR.remote_host, True)
    assert rows["qwen3:4b-instruct"]["profiles"] == ["8gb", "16gb"]
    assert (rows["tiny"]["in_use"], rows["tiny"]["installed"]) == (True, 1_000_000)
    assert not {"tiny:latest", "gpt-oss"} & set(rows), "the latter speaks of every tag, and is no model"
    assert asked(there) == {"/api/version", "/api/tags", "/api/ps"}


def test_the_list_shows_models_without_control_characters(there, said):
    there.models |= {"afar": AFAR, "giant:1t": Model(size=10**15), "\x1b[31mred:1b": Model(size=1)}
    shown = said.out("models")
    assert f"Ollama {there.version} at {there.host}" in shown and "\x1b" not in shown
    for line in (
        r"\* tiny +- +yes +installed, 1\.0 MB +-",
        r"  afar +- +- +answers from ollama\.com +-",
        r"  giant:1t +- +NO +installed, 1000000\.0 GB",
    ):
        assert re.search(f"^{line}", shown, re.MULTILINE)
    assert shown.endswith("  -> local-rag models try\n")


def test_without_a_server_the_offer_is_still_shown(said):
    shown = said.out("models")
    assert "no Ollama server answers at 127.0.0.1:1, so what is installed is not known" in shown
    assert "  -> ollama serve   (to install it: https://ollama.com/download)" in shown
    assert re.search(r"^  mistral:latest +6\.0 GB .*download 4\.4 GB +- +does not think", shown, re.MULTILINE)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("qwen3:8b", "qwen3:8b is not installed:\n  -> local-rag models pull\n"),
        ("afar", "afar would send your questions away, so it is not asked; take one that runs here:\n"),
        ("big:120b-cloud", "big:120b-cloud would send your questions away"),
    ],
)
def test_the_list_ends_with_the_command_that_comes_next(there, said, monkeypatch, model, told):
    there.models["afar:latest"] = AFAR
    monkeypatch.setenv("LOCAL_RAG_MODEL", model)
    assert told in said("models")


def test_a_list_in_a_terminal_leaves_out_what_there_is_no_room_for(there):
    report = model_report(Settings.load())
    narrow, wide = (shown(*model_parts(report), width=width) for width in (80, 200))
    assert all(len(line) <= 80 for line in narrow)
    assert any(line.startswith("  mistral:latest") for line in narrow)
    assert "tutorials" in "\n".join(wide)
    assert "tutorials" in "\n".join(shown(*model_parts(report)))
    assert "tutorials" not in "\n".join(narrow)


def test_what_fits_into_the_memory():
    assert [fits_memory(need, 10) for need in (0, 7, 8, 11)] == ["unknown", "yes", "tight", "no"]
    assert fits_memory(7, None) == "unknown"


# --- pull -------------------------------------------------------------------------------------------------------------


def test_pull_says_who_downloads_and_what_came_of_it(there, said):
    out, err = said.shown("models pull llama3.2:3b")
    lines = err.splitlines()
    assert lines[0] == "Ollama, not local-rag, downloads llama3.2:3b (about 2 GB) from registry.ollama.ai"
    assert lines[1:5] == ["pulling manifest", "verifying sha256 digest", "writing manifest", "success"]
    assert out == "llama3.2:3b is installed (2.0 GB); try it: local-rag models try llama3.2:3b\n"
    assert "llama3.2:3b" in there.models
    out, err = said.shown("models pull")
    assert "Ollama has tiny; it looks for a newer version at registry.ollama.ai" in err
    assert out.startswith("tiny is installed (1.0 MB)")


def test_pull_shows_a_bar_in_a_terminal(there, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_MODEL", "llama3.2:3b")
    out = io.StringIO()
    (pulled,) = pull_models(Settings.load(), TerminalDisplay(SafeConsole(out, force_terminal=True, width=100)))
    assert (pulled.name, pulled.size) == ("llama3.2:3b", 2 * GIGABYTE)
    assert "━" in out.getvalue()
    assert not re.search(r"pulling \w{12}", out.getvalue())


def test_every_model_of_the_profile_is_pulled(there, said, monkeypatch, tmp_path):
    monkeypatch.delenv("LOCAL_RAG_MODEL")
    file = tmp_path / "mine.yaml"
    profile = 'profiles: {mine: {memory: 1, model: "llama3.2:3b", roles: {grader: tiny}}}'
    file.write_text(f'ollama:\n  {profile}\n  models: {{"llama3.2:3b": {{memory: 900000}}}}\n')
    monkeypatch.setenv("LOCAL_RAG_MODELS", str(file))
    out, err = said.shown("models pull --profile mine")
    pulled = [request.body["model"] for request in there.requests if request.path == "/api/pull"]
    assert sorted(pulled) == ["llama3.2:3b", "tiny"] and len(out.splitlines()) == 2
    assert "note: it needs about 900000.0 GB of memory; this machine has" in err


def test_what_would_send_questions_away_is_not_pulled_or_praised(there, said):
    assert "would send your question and passages to ollama.com" in said("models pull gpt-oss:120b-cloud", 2)
    assert there.requests == []
    there.registry.add("afar")
    there.models["afar:latest"] = AFAR
    out, err = said.shown("models pull afar", 2)
    assert "would send your question and passages to https://ollama.com:443" in err and out == ""


def test_an_unknown_model_is_named_with_where_to_find_others(there, said):
    *_, line, hint = said("models pull qwen33:4b", 1).splitlines()
    assert line == "error: registry.ollama.ai has no model qwen33:4b"
    assert hint.startswith("hint: local-rag models lists names")


def pull_lines(*last):
    layer = {"status": "pulling 0123456789ab", "digest": "sha256:0123456789ab", "total": 100, "completed": 40}
    lines = [{"status": "pulling manifest"}, layer, *last]
    return raw(200, "application/x-ndjson", [json.dumps(line) for line in lines])


BROKEN = [
    (pull_lines({"error": "max retries exceeded: unexpected EOF"}), "max retries", "continues where it stopped"),
    (pull_lines({"error": "write /models/blob: no space left on device"}), "no space left", "ollama rm"),
    (pull_lines({"error": "pull model manifest: 412: requires a newer version of Ollama"}), "412", "a newer Ollama"),
    (pull_lines({"error": 'Get "https://registry": dial tcp: lookup: no such host'}), "no such host", "the network"),
    (pull_lines(), "it stopped after 'pulling 0123456789ab'", "local-rag models pull tiny continues"),
    (error(500, "no such thing"), "no such thing", "local-rag models pull tiny continues"),
    (cut(2), "registry.ollama.ai did not give the whole of tiny", "continues where it stopped"),
]


@pytest.mark.parametrize(("reply", "line", "hint"), BROKEN, ids=[row[1] for row in BROKEN])
def test_a_pull_that_breaks_off(there, said, reply, line, hint):
    there.instead["/api/pull"] = reply
    *_, told, tip = said("models pull", 1).splitlines()
    assert line in told and hint in tip


@pytest.mark.slow
@posix  # SIGINT as a terminal sends it
def test_ctrl_c_stops_a_pull(there):
    there.pull_pace = 20
    command = [sys.executable, "-m", "local_rag", "models", "pull"]
    with subprocess.Popen(command, env=dict(os.environ), stderr=subprocess.PIPE, text=True) as child:
        for line in child.stderr:
            if line == "pulling manifest\n":
                break
        child.send_signal(signal.SIGINT)
        assert child.wait(20) == 130
        assert child.stderr.read() == "stopped\nhint: the same command continues where it stopped\n"


# --- try --------------------------------------------------------------------------------------------------------------

GOOD = [
    '{"d": "vectorstore"}',
    '{"n": "yes"}',
    '{"r": "yes no yes"}',
    ANSWER,
    '{"s": "fully fully", "u": 5}',
    '{"t": "On Saturdays the library opens at 10:00.", "d": false}',
    "library saturday opening hours, lost card fee",
    "When does the library open on weekdays?",
]


PAIRED = json.loads(PAIRS.read_text(encoding="utf-8"))
RIGHT_GRADES = [
    reply
    for pair in PAIRED
    for reply in (
        '{"r": "yes no"}',
        '{"s": "fully", "u": 5}',
        '{"s": "fully", "u": 1}' if pair["kind"] == "neighbour" else '{"s": "no", "u": 5}',
    )
]


def test_a_good_model_keeps_to_every_schema(there, said):
    there.script(*GOOD, *RIGHT_GRADES)
    shown = said.shown("models try --json")
    trial = json.loads(shown.out)
    form = {"answer": "-", "rewrite": "-", "standalone": "-"}
    tasks = ("route", "need", "relevance", "answer", "grade", "reason", "rewrite", "standalone")
    tried = [(one["task"], one["schema"], one["right"]) for one in trial["tried"]]
    assert tried == [(task, form.get(task, "yes"), True) for task in tasks] and trial["honoured"]
    assert (trial["total"]["calls"], trial["total"]["loads"], len(there.chats)) == (8, 1, 8 + len(RIGHT_GRADES))
    assert all(one["prompt_tokens"] > 100 and one["output_tokens"] > 3 for one in trial["tried"])
    steps = shown.err.splitlines()
    assert steps[0] == "1 of 8: route…" and steps[8:] == [f"grading {2 * n} of 40 pairs…" for n in range(1, 21)]
    assert {grade["kind"]: grade["accuracy"] for grade in trial["grades"]} == {
        "relevance": round(21 / 22, 3),
        "support": round((29 / 30 + 13 / 14) / 2, 3),
        "usefulness": round((21 / 22 + 9 / 10) / 2, 3),
    }


CHANCE = ['{"r": "yes yes"}', '{"s": "fully", "u": 5}', '{"s": "fully", "u": 5}'] * len(PAIRED)


def test_the_trial_for_people_whose_terminal_no_reply_drives_says_whether_the_model_is_asked(there, said):
    there.script(*GOOD[:6], say("\x1b[31mlibrary opening hours, lost card fee\x1b]0;title\x07"), GOOD[7], *CHANCE)
    shown = said.out("models try")
    assert shown.startswith("ollama: tiny (window 8,192 tokens) at 127.0.0.1:") and "\x1b" not in shown
    assert re.search(r"^relevance +yes +\d+\.\d\d +\d+ \+ \d+ +yes +yes, no, yes$", shown, re.MULTILINE)
    assert re.search(r"^total +8 of 8 +\d+\.\d\d +[\d,]+ \+ \d+$", shown, re.MULTILINE)
    assert "s went into loading the model (1 time)" in shown
    assert "Every verdict had the form that was asked for.\n" in shown
    assert "relevance 0.50 (" in shown and "usefulness 0.53 (" in shown, "no better than chance"
    assert "the evaluator decides about answers without this model" in shown


def test_a_model_whose_grades_are_good_checks_each_answer_from_then_on(here, there, said):
    there.script(*GOOD, *RIGHT_GRADES)
    assert "With grading: auto, this model checks each answer from now on" in said.out("models try")
    ask = f"ask '{GREENHOUSE}' --engine ollama --graph self-rag"
    there.script("The greenhouse costs 4,200 euros.", '{"s": "no", "u": 1}')
    doubted = said.json(ask, 4)
    assert doubted["usage"]["calls"] == 2 and doubted["certainty"] != "sure"
    assert "the model's own check rejects it" in doubted["reason"]
    there.script("The greenhouse costs 4,200 euros.", '{"s": "fully", "u": 5}')
    assert said.json(ask)["certainty"] == "sure"
    kept = Settings.load().config_folder / GRADES
    kept.write_text(re.sub(r"support: .*", "support: good", kept.read_text()))
    assert "must hold support and usefulness, numbers from 0 to 1" in said(ask, 2)


def test_verdicts_in_the_wrong_form_are_told_and_fail(there, said):
    chatty = "Sure! The first passage is relevant."
    there.script(*GOOD[:2], chatty, chatty, GOOD[3], "yes", '{"s": "no no", "u": 1}', *GOOD[5:])
    shown = said.out("models try", 1)
    assert re.search(r"^relevance +NO .* unparsed +\?, \?, \?$", shown, re.MULTILINE)
    assert re.search(r"^grade +NO .* retried +no, 1 of 5$", shown, re.MULTILINE)
    assert "grade: expected fully, at least 4 of 5; it was: no, 1 of 5" in shown
    assert "The form of a reply was not kept at once: relevance and grade." in shown
    assert "  -> local-rag models   lists others" in shown


@pytest.mark.parametrize(
    ("reason", "rewrite", "right"),
    [
        (
            "On Saturdays the library opens at 10:00.",
            "library weekend hours and fee for a missing card",
            True,
        ),
        (
            "Replacing a lost card costs five euros.",
            "When is the library open on a Saturday? Price of a replacement card",
            True,
        ),
        (
            "mis arguments Zou 5 decisioning designed Location lammis 10 rationales",
            "Tebegin Ensure focus 5 lost quire 10 harmful measured library datum evidence rational",
            False,
        ),
        (
            "lost 5 arguments card decisioning designed location lammis rationales begin",
            "granite pier lighthouse",
            False,
        ),
        ("The lighthouse is 5 metres high.", "granite pier lighthouse", False),
        ("The library opens on Saturdays.", "granite pier lighthouse", False),
    ],
)
def test_noise_is_never_as_expected(there, said, reason, rewrite, right):
    """Refuse the first form of a reply, so that no grades are measured."""
    there.script("no JSON", *GOOD[:5], json.dumps({"t": reason, "d": False}), rewrite, GOOD[7])
    tried = {one["task"]: one["right"] for one in said.json("models try", 1)["tried"]}
    assert (tried["reason"], tried["rewrite"]) == (right, right)


def test_a_call_that_fails_names_its_task(there, said):
    there.script(*GOOD[:2], error(500, "CUDA error: out of memory"))
    *_, line, hint = said("models try", 1).splitlines()
    assert line.startswith("error: relevance: Ollama could not run tiny: CUDA error") and "local-rag models" in hint


def test_a_model_that_is_missing_or_elsewhere_is_not_tried(there, said):
    told = said("models try qwen3:8b", 1)
    assert (
        "has no model qwen3:8b; it has tiny:latest" in told
        and "local-rag models pull qwen3:8b   or   local-rag models try tiny:latest" in told
    )
    there.models["afar:latest"] = AFAR
    said("models try afar", 2)
    said("models try big:cloud", 2)
    assert there.chats == []
