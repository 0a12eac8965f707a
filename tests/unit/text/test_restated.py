"""A sentence that restates its question is verified by what it adds to it, and the marks that code sets."""

import pytest
from langchain_core.documents import Document

from local_rag.text.citations import check, marked
from local_rag.text.support import evidence

LEASE = "Landlord: Margit Osei, 3 Chapel Rise\nTenant: Clara Novak\n\nRent: 1,480 pounds a month, due by 1 March.\n"
PHONES = "Anna Berg: 0555 100\nBert Holm: 0555 200"


@pytest.mark.parametrize(("question", "sentence", "passage", "header"), [
    ("Who is the landlord of the flat in Elm Street?", "The landlord of the flat in Elm Street is Margit Osei.", LEASE,
     "lease flat Elm Street"),
    ("How much is the rent in Elm Street?", "The rent in Elm Street is 1,480 pounds.", LEASE, "lease Elm Street"),
    ("Until when must the rent be paid?", "The rent must be paid until 1 March.", LEASE, ""),
    ("When does the train to Graz leave?", "The train to Graz leaves at 07:58.",
     "- 20 July: train to Graz, departs 07:58", ""),
    ("Which tools do I need?", "You need a saw, two clamps, and 30 g glue.",
     "Tools:\n- a saw\n- two clamps\n- 30 g glue", ""),
])  # fmt: skip
def test_a_quote_that_holds_what_is_new_carries_a_sentence(question, sentence, passage, header):
    assert not evidence(sentence, passage).verified, "without the question its words do not stand there"
    found = evidence(sentence, passage, question, header)
    assert found.verified and not found.exact


@pytest.mark.parametrize(("question", "sentence", "passage", "header"), [
    ("How much is the deposit of the store?", "The deposit of the store is 1,480 pounds.", LEASE, "lease store"),
    ("How much is the rent in Elm Street?", "The rent in Elm Street is 1,840 pounds.", LEASE, "lease Elm Street"),
    ("How much is the rent in Elm Street?", "The rent in Elm Street is 1,480 pounds.", LEASE, "lease Mill Lane"),
    ("What is the number of Anna Berg?", "The number of Anna Berg is 0555 200.", PHONES, ""),
    ("Are dogs allowed in the flat?", "Dogs are not allowed in the flat in summer.", "In summer dogs are welcome.", ""),
    ("What was the fee in 2023?", "The fee in 2023 was 40 euros.", "The fee in 2022 was 40 euros.", ""),
])  # fmt: skip
def test_another_thing_number_person_year_or_denial_does_not(question, sentence, passage, header):
    assert not evidence(sentence, passage, question, header).verified


PASSAGES = [Document("The plan costs 100 euros. It is blue."), Document("The train to Graz leaves at 9:40.")]


@pytest.mark.parametrize(("written", "text"), [
    ("The plan costs 100 euros [1].", "The plan costs 100 euros [1]."),
    ("The plan costs 100 euros. (2)", "The plan costs 100 euros. [1]"),
    ("The plan costs 100 euros. [7]", "The plan costs 100 euros. [1]"),
    ("According to the passage, it is blue.", "It is blue. [1]"),
    ("Based on the information provided in the second passage, the train to Graz leaves at 9:40.",
     "The train to Graz leaves at 9:40. [2]"),
    ("The passage explicitly states that it is blue.", "It is blue. [1]"),
    ("The passage states that the train to Graz leaves at 9:40.", "The train to Graz leaves at 9:40. [2]"),
    ("It is blue, as stated in the passage.", "It is blue. [1]"),
    ("- The plan costs 100 euros\n- The train to Graz leaves at 9:40", "- The plan costs 100 euros [1]\n"
     "- The train to Graz leaves at 9:40 [2]"),
    ("Whales sing at night.", "Whales sing at night."),
])  # fmt: skip
def test_code_sets_the_marks_whatever_a_model_writes(written, text):
    assert marked(written, PASSAGES) == text
    assert check(text, PASSAGES).status == ("ungrounded" if "Whales" in text else "grounded")
