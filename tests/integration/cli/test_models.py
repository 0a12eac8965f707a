"""`local-rag models`: the list, a download through Ollama, and the tasks of an engine, against a server on loopback."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys

import pytest
from support.ollama_server import Model, cut, empty, error, raw, say
from support.screen import shown

from local_rag.cli.app import run
from local_rag.config.settings import Settings
from local_rag.diagnostics.models import Layers, fits_memory, model_report, pull_models, registry
from local_rag.diagnostics.trial import ANSWER
from local_rag.terminal.console import SafeConsole, TerminalDisplay
from local_rag.terminal.models import model_parts

pytestmark = pytest.mark.usefixtures("converted")

GIGABYTE = 1_000_000_000
SMALL = Model(size=1_000_000, window=16_384)


@pytest.fixture
def there(ollama, monkeypatch):
    """A server where Ollama's own variable says, with a small model that a person named for everything."""
    ollama.models = {"tiny:latest": SMALL}
    monkeypatch.setenv("OLLAMA_HOST", ollama.host)
    monkeypatch.setenv("LOCAL_RAG_MODEL", "tiny")
    return ollama


def asked(ollama):
    return {request.path for request in ollama.requests}


# --- the list ---------------------------------------------------------------------------------------------------------


def listed(capsys, *options):
    assert run(["models", "--json", *options]) == 0
    report = json.loads(capsys.readouterr().out)
    return report, {row["name"]: row for row in report["models"]}


def test_the_list_knows_what_is_offered_installed_loaded_and_remote(there, capsys):
    there.models |= {
        "llama3.2:3b": Model(),
        "afar:latest": Model(size=400, remote_host="https://ollama.com:443", remote_model="big"),
    }
    assert run(["models", "try", "llama3.2:3b", "--json"]) in (0, 1)
    there.requests.clear()
    capsys.readouterr()
    report, rows = listed(capsys, "--profile", "16gb")
    assert (report["profile"], report["why"], report["in_use"]) == ("16gb", "named by --profile", ["tiny"])
    assert (report["server"], report["version"], report["problem"]) == (there.host, there.version, "")
    llama, mistral, afar = rows["llama3.2:3b"], rows["mistral:latest"], rows["afar:latest"]
    assert (llama["offered"], llama["installed"], llama["download"]) == (True, 2 * GIGABYTE, 2 * GIGABYTE)
    assert (llama["loaded"], llama["window"], llama["memory"]) == (True, 8192, 3_400_000_000)
    assert (mistral["installed"], mistral["loaded"], mistral["window"]) == (None, False, None)
    assert (afar["offered"], afar["remote_host"], afar["refused"]) == (False, "https://ollama.com:443", True)
    assert rows["qwen3:4b-instruct"]["profiles"] == ["8gb", "16gb"]
    assert (rows["tiny"]["in_use"], rows["tiny"]["installed"]) == (True, 1_000_000)
    assert "tiny:latest" not in rows
    assert "gpt-oss" not in rows  # it speaks of every tag, and is no model
    assert asked(there) == {"/api/version", "/api/tags", "/api/ps"}


def test_the_list_for_people(there, capsys):
    there.models |= {
        "afar": Model(size=400, remote_host="https://ollama.com:443"),
        "giant:1t": Model(size=10**15),
        "\x1b[31mred:1b": Model(size=1),
    }
    assert run(["models"]) == 0
    shown = capsys.readouterr().out
    assert f"Ollama {there.version} at {there.host}" in shown
    assert re.search(r"^\* tiny +- +yes +installed, 1\.0 MB +-", shown, re.MULTILINE)
    assert re.search(r"^  afar +- +- +answers from ollama\.com +-", shown, re.MULTILINE)
    assert re.search(r"^  giant:1t +- +NO +installed, 1000000\.0 GB", shown, re.MULTILINE)
    assert "\x1b" not in shown
    assert shown.endswith("  -> local-rag models try\n")


def test_without_a_server_the_offer_is_still_shown(capsys):
    assert run(["models"]) == 0
    shown = capsys.readouterr().out
    assert "no Ollama server answers at 127.0.0.1:1, so what is installed is not known" in shown
    assert "  -> ollama serve   (to install it: https://ollama.com/download)" in shown
    assert re.search(r"^  mistral:latest +6\.0 GB .*download 4\.4 GB +- +does not think", shown, re.MULTILINE)


def test_a_server_on_another_machine_is_not_asked(capsys, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_OLLAMA_HOST", "192.0.2.7")
    assert run(["models"]) == 0
    shown = capsys.readouterr().out
    assert "192.0.2.7:11434 is not this machine, so nothing was sent to it" in shown
    assert "LOCAL_RAG_OLLAMA_ALLOW_HOSTS=192.0.2.7" in shown


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("qwen3:8b", "qwen3:8b is not installed:\n  -> local-rag models pull\n"),
        ("afar", "afar would send your questions away, so it is not asked; take one that runs here:\n"),
        ("big:120b-cloud", "big:120b-cloud would send your questions away"),
    ],
)
def test_the_list_ends_with_the_command_that_comes_next(there, capsys, monkeypatch, model, told):
    there.models["afar:latest"] = Model(size=400, remote_host="https://ollama.com:443")
    monkeypatch.setenv("LOCAL_RAG_MODEL", model)
    assert run(["models"]) == 0
    assert told in capsys.readouterr().out


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


@pytest.mark.parametrize(
    ("arguments", "line", "hint"),
    [
        (["models", "--profile", "7gb"], "there is no profile '7gb'", "--profile"),
        (["models", "--json", "pull"], "options of pull belong after it", "local-rag models pull --help"),
        (["models", "frob"], "No such command 'frob'", "local-rag models --help"),
        (["models", "pull", "a", "b"], "unexpected extra argument", "local-rag models pull --help"),
    ],
)
def test_wrong_words_get_one_line_and_a_hint(capsys, arguments, line, hint):
    assert run(arguments) == 2
    told = capsys.readouterr().err
    assert line in told
    assert hint in told


# --- pull -------------------------------------------------------------------------------------------------------------


def test_pull_says_who_downloads_and_what_came_of_it(there, capsys):
    assert run(["models", "pull", "llama3.2:3b"]) == 0
    told = capsys.readouterr()
    lines = told.err.splitlines()
    assert lines[0] == "Ollama, not local-rag, downloads llama3.2:3b (about 2 GB) from registry.ollama.ai"
    assert lines[1] == "pulling manifest"
    assert lines[2:5] == ["verifying sha256 digest", "writing manifest", "success"]
    assert told.out == "llama3.2:3b is installed (2.0 GB); try it: local-rag models try llama3.2:3b\n"
    assert "llama3.2:3b" in there.models


def test_pull_shows_a_bar_in_a_terminal(there, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_MODEL", "llama3.2:3b")
    out = io.StringIO()
    (pulled,) = pull_models(Settings.load(), TerminalDisplay(SafeConsole(out, force_terminal=True, width=100)))
    assert (pulled.name, pulled.size) == ("llama3.2:3b", 2 * GIGABYTE)
    assert "━" in out.getvalue()
    assert not re.search(r"pulling \w{12}", out.getvalue())


def test_what_is_there_is_checked_again(there, capsys):
    assert run(["models", "pull"]) == 0
    told = capsys.readouterr()
    assert "Ollama has tiny; it looks for a newer version at registry.ollama.ai" in told.err
    assert told.out.startswith("tiny is installed (1.0 MB)")


def test_every_model_of_the_profile_is_pulled(there, capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("LOCAL_RAG_MODEL")
    file = tmp_path / "mine.yaml"
    profile = 'mine: {memory: 1, model: "llama3.2:3b", roles: {grader: tiny}}'
    file.write_text(f"ollama:\n  profiles:\n    {profile}\n")
    monkeypatch.setenv("LOCAL_RAG_MODELS", str(file))
    assert run(["models", "pull", "--profile", "mine"]) == 0
    pulled = [request.body["model"] for request in there.requests if request.path == "/api/pull"]
    assert sorted(pulled) == ["llama3.2:3b", "tiny"]
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_cloud_model_is_refused_before_anything_is_sent(there, capsys):
    assert run(["models", "pull", "gpt-oss:120b-cloud"]) == 2
    assert "would send your question and passages to ollama.com" in capsys.readouterr().err
    assert there.requests == []


def test_a_model_that_turns_out_to_be_remote_is_not_praised(there, capsys):
    there.registry.add("afar")
    there.models["afar:latest"] = Model(size=400, remote_host="https://ollama.com:443")
    assert run(["models", "pull", "afar"]) == 2
    told = capsys.readouterr()
    assert "would send your question and passages to https://ollama.com:443" in told.err
    assert told.out == ""


def test_an_unknown_model(there, capsys):
    assert run(["models", "pull", "qwen33:4b"]) == 1
    *_, line, hint = capsys.readouterr().err.splitlines()
    assert line == "error: registry.ollama.ai has no model qwen33:4b"
    assert hint.startswith("hint: local-rag models lists names")


def test_a_model_that_is_too_large_is_announced(there, capsys, monkeypatch, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text('ollama:\n  models:\n    "llama3.2:3b": {memory: 900000}\n')
    monkeypatch.setenv("LOCAL_RAG_MODELS", str(file))
    assert run(["models", "pull", "llama3.2:3b"]) == 0
    assert "note: it needs about 900000.0 GB of memory; this machine has" in capsys.readouterr().err


def pull_lines(*last):
    layer = {"status": "pulling 0123456789ab", "digest": "sha256:0123456789ab", "total": 100, "completed": 40}
    lines = [{"status": "pulling manifest"}, layer, *last]
    return raw(200, "application/x-ndjson", [json.dumps(line) for line in lines])


BROKEN = [
    (
        pull_lines({"error": "max retries exceeded: unexpected EOF"}),
        "broke off too often",
        "continues where it stopped",
    ),
    (pull_lines({"error": "write /models/blob: no space left on device"}), "does not fit on the disk", "ollama rm"),
    (pull_lines({"error": "pull model manifest: 412: requires a newer version of Ollama"}), "newer Ollama", "download"),
    (
        pull_lines({"error": 'Get "https://registry": dial tcp: lookup: no such host'}),
        "not reach the network",
        "online",
    ),
    (pull_lines({"error": "something else"}), "tiny is incomplete", "local-rag models pull tiny"),
    (pull_lines(), "failed after 'pulling 0123456789ab'", "local-rag models pull tiny"),
    (error(500, "no such thing"), "tiny is incomplete", "local-rag models pull tiny"),
    (cut(2), "tiny is incomplete", "continues where it stopped"),
]


@pytest.mark.parametrize(("reply", "line", "hint"), BROKEN, ids=[row[1] for row in BROKEN])
def test_a_pull_that_breaks_off(there, capsys, reply, line, hint):
    there.instead["/api/pull"] = reply
    assert run(["models", "pull"]) == 1
    *_, told, tip = capsys.readouterr().err.splitlines()
    assert line in told
    assert hint in tip


def test_pull_without_a_server(capsys):
    assert run(["models", "pull", "tiny"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "error: no Ollama server answers at 127.0.0.1:1",
        "hint: ollama serve   (to install it: https://ollama.com/download)",
    ]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT as a terminal sends it")
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


def test_bytes_over_all_layers():
    layers = Layers()
    layers.add("pulling manifest", 0, 0)
    for digest, done, total in (("pulling a", 60, 100), ("pulling b", 0, 10), ("pulling a", 50, 100)):
        layers.add(digest, done, total)
    share_and_line = (60 / 110, "downloading 60 B of 110 B")
    assert layers.progress() == share_and_line, "what an earlier download left has no speed"
    layers.add("pulling b", 10, 10)
    assert re.fullmatch(r"downloading 70 B of 110 B, .*B/s, about 0:00 left", layers.progress()[1])


def test_the_registry_stands_in_the_name():
    assert registry("qwen3:4b") == registry("someone/model") == "registry.ollama.ai"
    assert registry("hf.co/someone/model:Q4_K_M") == "hf.co"


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


def test_a_good_model_keeps_to_every_schema(there, capsys):
    there.script(*GOOD)
    assert run(["models", "try", "--json"]) == 0
    told = capsys.readouterr()
    trial = json.loads(told.out)
    assert [(one["task"], one["schema"], one["right"]) for one in trial["tried"]] == [
        ("route", "yes", True),
        ("need", "yes", True),
        ("relevance", "yes", True),
        ("answer", "-", True),
        ("grade", "yes", True),
        ("reason", "yes", True),
        ("rewrite", "-", True),
        ("standalone", "-", True),
    ]
    assert trial["honoured"]
    assert (trial["total"]["calls"], trial["total"]["loads"], len(there.chats)) == (8, 1, 8)
    assert all(one["prompt_tokens"] > 100 and one["output_tokens"] > 3 for one in trial["tried"])
    assert told.err.splitlines()[0] == "1 of 8: route…"
    assert len(told.err.splitlines()) == 8


def test_the_trial_for_people(there, capsys):
    there.script(*GOOD)
    assert run(["models", "try"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("ollama: tiny (window 8,192 tokens) at 127.0.0.1:")
    assert re.search(r"^relevance +yes +\d+\.\d\d +\d+ \+ \d+ +yes +yes, no, yes$", shown, re.MULTILINE)
    assert re.search(r"^total +8 of 8 +\d+\.\d\d +[\d,]+ \+ \d+$", shown, re.MULTILINE)
    assert "s went into loading the model (1 time)" in shown
    assert shown.endswith("Every verdict had the form that was asked for.\n")


def test_a_model_that_always_thinks_is_told_with_the_setting(there, capsys):
    there.models["tiny:latest"] = Model(capabilities=("completion", "thinking"))
    there.always = empty()
    assert run(["models", "try"]) == 1, "the first reply was lost"
    shown = capsys.readouterr()
    assert "returned no text" in shown.out + shown.err and "'think: low'" in shown.out + shown.err


def test_verdicts_in_the_wrong_form_are_told_and_fail(there, capsys):
    chatty = "Sure! The first passage is relevant."
    there.script(*GOOD[:2], chatty, chatty, GOOD[3], "yes", '{"s": "no no", "u": 1}', *GOOD[5:])
    assert run(["models", "try"]) == 1
    shown = capsys.readouterr().out
    assert re.search(r"^relevance +NO .* unparsed +\?, \?, \?$", shown, re.MULTILINE)
    assert re.search(r"^grade +NO .* retried +no, 1 of 5$", shown, re.MULTILINE)
    assert "grade: expected fully, at least 4 of 5; it was: no, 1 of 5" in shown
    assert "The form of a reply was not kept at once: relevance and grade." in shown
    assert "  -> local-rag models   lists others" in shown


@pytest.mark.parametrize(
    ("task", "reply", "right"),
    [
        ("rewrite", "library weekend hours and fee for a missing card", True),
        ("rewrite", "When is the library open on a Saturday? Price of a replacement card", True),
        ("rewrite", "Tebegin Ensure focus 5 lost quire 10 harmful measured library datum evidence rational", False),
        ("rewrite", "granite pier lighthouse", False),
        ("rewrite", "When does the library open on Saturdays, and what does a lost card cost", False),
        ("reason", "On Saturdays the library opens at 10:00.", True),
        ("reason", "Replacing a lost card costs five euros.", True),
        ("reason", "mis arguments Zou 5 decisioning designed Location lammis 10 rationales", False),
        ("reason", "lost 5 arguments card decisioning designed location lammis rationales begin", False),
        ("reason", "The lighthouse is 5 metres high.", False),
        ("reason", "The library opens on Saturdays.", False),
    ],
)
def test_noise_is_never_as_expected(there, capsys, task, reply, right):
    number = {"reason": 5, "rewrite": 6}[task]
    said = json.dumps({"t": reply, "d": False}) if task == "reason" else reply
    there.script(*GOOD[:number], said, *GOOD[number + 1 :])
    assert run(["models", "try", "--json"]) == 0
    (tried,) = [one for one in json.loads(capsys.readouterr().out)["tried"] if one["task"] == task]
    assert tried["right"] is right


def test_a_call_that_fails_names_its_task(there, capsys):
    there.script(*GOOD[:2], error(500, "CUDA error: out of memory"))
    assert run(["models", "try"]) == 1
    *_, line, hint = capsys.readouterr().err.splitlines()
    assert line.startswith("error: relevance: Ollama could not run tiny: CUDA error")
    assert "local-rag models" in hint


def test_a_model_that_is_missing_or_elsewhere_is_not_tried(there, capsys):
    assert run(["models", "try", "qwen3:8b"]) == 1
    told = capsys.readouterr().err
    assert "has no model qwen3:8b; it has tiny:latest" in told
    assert "local-rag models pull qwen3:8b" in told
    there.models["afar:latest"] = Model(size=400, remote_host="https://ollama.com:443")
    assert run(["models", "try", "afar"]) == 2
    assert run(["models", "try", "big:cloud"]) == 2
    assert there.chats == []


def test_a_reply_cannot_drive_the_terminal(there, capsys):
    there.script(*GOOD[:6], say("\x1b[31mred words\x1b]0;title\x07"), GOOD[7])
    assert run(["models", "try"]) == 0
    assert "\x1b" not in capsys.readouterr().out
