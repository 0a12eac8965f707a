"""Ask a language model which rows and columns of a table a question means; code computes the answer."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import Field, create_model

from local_rag.core.verdicts import Usage
from local_rag.engines.language_model.schemas import Reply
from local_rag.index.tables.query import Aggregate, Comparison, Condition, TableQuery, check
from local_rag.text.display import shorten

if TYPE_CHECKING:
    from local_rag.engines.language_model.task import Task
    from local_rag.index.tables.table import Table

VALUES = 10
"""The commonest values of a column that the model is shown."""

EXAMPLES = """\
Examples, over another table:
Table parcels.csv, 214 rows. Columns:
- Parcel (text): PX-1, PX-2, PX-3
- Sent (date): 2023-11-02 to 2024-04-19
- To (text): Lima, Oslo, Accra
- State (text): delivered, lost, on its way
- Weight kg (number): 0.2 to 31.5
Question: Where was parcel PX-2 sent to?
{"where": [{"column": "Parcel", "is": "is", "value": "PX-2"}], "select": ["To"], "aggregate": "", "group_by": "", "order": "", "descending": false, "limit": 0}
Question: Which parcels to Oslo are heavier than 5 kg?
{"where": [{"column": "To", "is": "is", "value": "Oslo"}, {"column": "Weight kg", "is": "over", "value": "5"}], "select": ["Parcel"], "aggregate": "", "group_by": "", "order": "", "descending": false, "limit": 0}
Question: How many parcels were lost in March 2024?
{"where": [{"column": "State", "is": "is", "value": "lost"}, {"column": "Sent", "is": "is", "value": "2024-03"}], "select": [], "aggregate": "count", "group_by": "", "order": "", "descending": false, "limit": 0}
Question: What do all parcels weigh together?
{"where": [], "select": ["Weight kg"], "aggregate": "sum", "group_by": "", "order": "", "descending": false, "limit": 0}"""  # noqa: E501


class QueryTable(Reply):
    """Hold a table query; see `of_columns`."""

    tokens, explained = 240, False


@lru_cache(maxsize=64)
def of_columns(columns: tuple[str, ...]) -> type[QueryTable]:
    """Return the schema of a query of a table with these columns and no other."""
    one: Any = Literal[columns]
    none: Any = Literal[("", *columns)]
    where: Any = {
        "column": (one, ...),
        "comparison": (Literal[get_args(Comparison)], Field(alias="is")),
        "value": (str, Field(max_length=100)),
    }
    condition: Any = create_model("Condition", __base__=Reply, **where)
    fields: Any = {
        "where": (Annotated[list[condition], Field(max_length=4)], ...),
        "select": (Annotated[list[one], Field(max_length=4)], ...),
        "aggregate": (Literal[get_args(Aggregate)], ...),
        "group_by": (none, ...),
        "order": (none, ...),
        "descending": (bool, ...),
        "limit": (int, Field(ge=0, le=100)),
    }
    return create_model("QueryTable", __base__=QueryTable, **fields)


def asked_query(task: Task, question: str, table: Table, name: str) -> tuple[TableQuery | None, Usage]:
    """Return the query that a question means by the model's reading, and the cost; None if it does not fit the table
    and the question.
    """
    messages = task.prompts.chat(task.prompts.texts.filled("table_query"), question, before=_shown(table, name))
    schema = of_columns(tuple(column.name for column in table.columns))
    verdict = task.verdict(
        "generator",
        "table_query",
        lambda _: messages,
        schema,
        check=lambda reply: check(_query(reply, table), question, table),
    )
    return (_query(verdict.reply, table) if verdict.reply else None), task.usage()


def _query(reply: Any, table: Table) -> TableQuery:
    places = {column.name: place for place, column in enumerate(table.columns)}
    where = tuple(Condition(places[each.column], each.comparison, each.value) for each in reply.where)
    rows = places.get(reply.group_by), places.get(reply.order), reply.descending, reply.limit
    return TableQuery(where, tuple(places[name] for name in reply.select), reply.aggregate, *rows)


def _shown(table: Table, name: str) -> str:
    """Return the examples, which stand first so that a server reads them once, and the table: its columns with their
    commonest values or their range.
    """
    lines = [EXAMPLES, "", f"Table {name}, {table.rows:,} rows. Columns:"]
    for place, column in enumerate(table.columns):
        values = table.texts(place, VALUES) if column.kind == "text" else table.range(place)
        between = ", " if column.kind == "text" else " to "
        lines.append(f"- {column.name} ({column.kind}): {between.join(shorten(value, 40) for value in values)}")
    return "\n".join(lines)
