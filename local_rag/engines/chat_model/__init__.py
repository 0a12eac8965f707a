"""The tasks of an engine by any chat model of LangChain."""
