"""Parts of the Ollama engine that need no server: tokens, windows, thoughts, names, durations."""

import pytest

from local_rag.config.values import Ollama
from local_rag.engines.calls import without_thoughts
from local_rag.engines.language_model.task import first_line
from local_rag.engines.ollama.server import is_cloud_name


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("It is so.", "It is so."),
        ("<think>Is it?</think>It is so.", "It is so."),
        ("\n <think>Is it?</think>\n\n It is so.", "It is so."),
        ("<think></think>It is so.", "It is so."),
        ("<think>a <think> b</think>It is so.", "It is so."),
        ("<think>Is it", ""),
        ("<think>Is it</think", ""),
        ("<think>Is it</think>  ", ""),
        ("Is it so? Yes [2].\n</think>\n\nIt is so [1].", "It is so [1]."),
        ("</think>It is so.", "It is so."),
        ("<thinker> said so.", "<thinker> said so."),
        ("It is <think>so</think>.", "It is <think>so</think>."),
        ("", ""),
    ],
)
def test_thoughts_stand_at_the_beginning(reply, text):
    assert without_thoughts(reply).strip() == text


# --- lines, names, durations -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "cloud"),
    [
        (["x:cloud", "gpt-oss:120b-cloud", "maker/x:cloud", "hub.test:5000/x:1b-cloud", "x:1b-CLOUD "], True),
        (["cloud", "x", "x:latest", "cloud:latest", "my-cloud", "x-cloud:7b", "x:cloudy", "x:1bcloud"], False),
    ],
)
def test_names_of_cloud_models(names, cloud):
    assert {is_cloud_name(name) for name in names} == {cloud}


@pytest.mark.parametrize(
    ("reply", "line"),
    [
        ("lease end date", "lease end date"),
        ("Here is a new query:\n\nprice of the plan", "price of the plan"),
        ("Query: lease end date", "lease end date"),
        ("**Query:** lease end", "lease end"),
        ("New search query: lease", "lease"),
        ("- lease end", "lease end"),
        ("1. lease end", "lease end"),
        ('"lease end"', "lease end"),
        ('"lease" AND "end"', '"lease" AND "end"'),
        ("```\nlease end\n```", "lease end"),
        ("Why: the lease", "Why: the lease"),
        ("", ""),
    ],
)
def test_the_line_that_is_meant(reply, line):
    assert first_line(reply) == line


@pytest.mark.parametrize(
    ("keep_alive", "sent"), [("5m", "5m"), (-1, "-1s"), ("-1", "-1s"), (0, "0s"), ("1h30m", "1h30m"), (300, "300s")]
)
def test_keep_alive_as_people_write_it(keep_alive, sent):
    assert Ollama(keep_alive=keep_alive).keep_alive == sent


@pytest.mark.parametrize("wrong", ["soon", "5 minutes", "", "m5", 1.5])
def test_keep_alive_as_ollama_would_refuse_it(wrong):
    with pytest.raises(ValueError, match="keep_alive"):
        Ollama(keep_alive=wrong)
