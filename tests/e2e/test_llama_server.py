"""from_chat_model on llama.cpp's own server: a real server and a real client, with a model that means nothing."""

from __future__ import annotations

import pytest

from local_rag import from_chat_model
from local_rag.engines.contract import EngineContract

for library in ("llama_cpp", "llama_cpp.server", "gguf", "langchain_openai", "fastapi", "uvicorn", "sse_starlette"):
    pytest.importorskip(
        library, reason=f"{library} is not installed: pip install 'llama-cpp-python[server]' gguf langchain-openai"
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from langchain_openai import ChatOpenAI
    from support.llama_server import llama_server

    with llama_server(tmp_path_factory.mktemp("llama")) as url:
        yield ChatOpenAI(base_url=url, api_key="none", model="random", temperature=0, max_tokens=200, max_retries=0)


class TestLlamaCppKeepsTheContract(EngineContract):
    @pytest.fixture
    def engine(self, model):
        return from_chat_model(model, window=3000)
