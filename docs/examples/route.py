"""A route of FastAPI that answers from your files; several people may ask at once.

uvicorn --app-dir docs/examples route:app   asks the default index

Whoever reaches the port may ask: stay on 127.0.0.1, or put your own sign-in before it. `local-rag serve` has one.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, HTTPException, Request

from local_rag import LocalRagError, Rag


@asynccontextmanager
async def opened(app: FastAPI) -> AsyncIterator[None]:
    with Rag.open() as rag:
        app.state.rag = rag
        yield


app = FastAPI(lifespan=opened)


@app.get("/answer")
async def answer(question: str, request: Request) -> dict[str, Any]:
    rag: Rag = request.app.state.rag
    try:
        given = await rag.aask(question)
    except LocalRagError as error:
        raise HTTPException(422, f"{error}. {error.hint}") from error
    sources = [{"file": each.source, "page": each.page, "quote": each.quote} for each in given.citations]
    return {"status": given.status, "text": given.text, "sources": sources}
