"""Change or read a database past the program."""

import sqlite3
from contextlib import closing


def sql(path, statement, *values):
    with closing(sqlite3.connect(path)) as database, database:
        return database.execute(statement, values).fetchall()
