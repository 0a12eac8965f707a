"""Graphs driven as a LangGraph program drives them."""

from __future__ import annotations


def final_state(app, deps, question="What does the plan cost?", config=None):
    """The whole state at the end of a question; `invoke` gives only what a graph gives back."""
    return list(app.stream({"question": question}, config, context=deps, stream_mode="values"))[-1]
