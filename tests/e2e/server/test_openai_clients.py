"""What programs that speak OpenAI's API make of a real server with real files."""

import pytest
from support.garden import GREENHOUSE, entered, notes_in
from support.serving import a_workspace, served

from local_rag.cli.app import run

ANSWER = """The greenhouse costs 4,200 euros. [1]

- [1] notes/plan.md, § Garden plan > Costs: “The greenhouse costs 4,200 euros.”"""
ASKED = [{"role": "user", "content": GREENHOUSE}]


@pytest.fixture(scope="module")
def server(tmp_path_factory, converted):
    """(address, key) of a server whose index holds the notes."""
    base = tmp_path_factory.mktemp("asked")
    with entered(base) as patched:
        patched.setenv("LOCAL_RAG_ENGINE", "extractive")
        assert run(["index", str(notes_in(base))]) == 0
        workspace = a_workspace()
        with served(workspace) as address:
            yield f"{address}/v1", workspace.access.key


@pytest.fixture
def client(server):
    from openai import OpenAI

    with OpenAI(base_url=server[0], api_key=server[1]) as client:
        yield client


def test_openai_reads_models_answers_annotations_and_errors(client):
    from openai import NotFoundError

    *_, last = client.models.list()
    assert client.models.retrieve(last.id) == last
    reply = client.chat.completions.create(model=last.id, messages=ASKED)
    message = reply.choices[0].message
    assert message.content == ANSWER
    assert message.annotations[0].url_citation.title == "notes/plan.md, § Garden plan > Costs"
    assert "greenhouse" in message.reasoning_content and reply.local_rag["citations"][0]["verified"]
    with pytest.raises(NotFoundError, match="there is no model 'gpt-5' here"):
        client.chat.completions.create(model="gpt-5", messages=ASKED)


def test_openai_reads_a_stream(client):
    options = {"stream": True, "stream_options": {"include_usage": True}}
    *chunks, usage = client.chat.completions.create(model="local-rag", messages=ASKED, **options)
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(delta.content or "" for delta in deltas) == ANSWER
    [annotations] = [delta.annotations for delta in deltas if hasattr(delta, "annotations")]
    assert annotations[0]["type"] == "url_citation"
    assert usage.usage.total_tokens == 0, "the extractive engine asks no language model"


def test_langchain_reads_the_answer_with_its_sources_in_the_text(server):
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(base_url=server[0], api_key=server[1], model="local-rag/crag")
    assert model.invoke(GREENHOUSE).content == ANSWER
    assert "".join(chunk.content for chunk in model.stream(GREENHOUSE)) == ANSWER


def test_llm_goes_on_with_a_chat(server, tmp_path, monkeypatch):
    from click.testing import CliRunner
    from llm.cli import cli

    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    (tmp_path / "keys.json").write_text(f'{{"local-rag": "{server[1]}"}}')
    (tmp_path / "extra-openai-models.yaml").write_text(
        f"- model_id: files\n  model_name: local-rag\n  api_base: {server[0]}\n  api_key_name: local-rag\n"
    )

    def llm(*arguments):
        return CliRunner().invoke(cli, ["-m", "files", *arguments], catch_exceptions=False).output

    assert llm(GREENHOUSE) == f"{ANSWER}\n"
    assert llm("-c", "And the fence?").startswith("*understood as: And the fence?")
