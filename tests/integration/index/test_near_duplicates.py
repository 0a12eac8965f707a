"""Near-duplicates of a passage do not fill the first k; versions that disagree both come."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fakes_index import HashingEmbedder

from local_rag.index.index import Index

LEASE = (
    "The tenant pays the rent of {rent} euros on the first working day of each month to the account of the landlord. "
    "Small repairs in the flat are paid by the tenant, larger ones by the landlord, who is told of them in writing."
)
FILES = {
    "lease.txt": LEASE.format(rent=950),
    "mail.txt": "> " + LEASE.format(rent=950).replace(". ", ".\n> ").upper(),
    "lease-2024.txt": LEASE.format(rent=990),
    "copy.txt": LEASE.format(rent=950),
    "dog.txt": "The dog is fed at seven and at five. Who pays for its food is agreed with the neighbours each month.",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leases")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    path = tmp_path_factory.mktemp("data") / "index"
    with Index.open(path, HashingEmbedder(), chunk_size=100, create=True) as made:
        made.sync([folder])
        yield made


def names(index, k, **options):
    documents = index.search("Who pays the rent each month?", k, **options)
    return [Path(document.metadata["source"]).name for document in documents]


@pytest.mark.parametrize("mode", ["hybrid", "dense", "words"])
def test_the_first_k_say_different_things(index, mode):
    first = names(index, 3, mode=mode)
    assert {"lease-2024.txt", "dog.txt"} < set(first), "the version that disagrees is no duplicate"
    assert len({"lease.txt", "copy.txt", "mail.txt"} & set(first)) == 1


def test_a_near_duplicate_comes_where_there_is_nothing_else_and_an_identical_text_does_not(index):
    every = names(index, 9)
    assert len(every) == 4
    last = {"lease.txt", "copy.txt", "mail.txt"} - set(every[:3])
    assert every[3] in last, "of the lease and its quotation one is a near-duplicate of the other"
    assert len({"lease.txt", "copy.txt"} & set(every)) == 1
    assert every[:3] == names(index, 3), "the near-duplicate is the last one"


def test_repeats_hide_nothing(index):
    assert len(names(index, 9, repeats=True)) == len(FILES)
