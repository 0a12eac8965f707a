"""Three passages that every engine reads in its tests: terms of a warranty, offices and staff, a garden."""

from __future__ import annotations

from support.fakes import passage

TERMS = passage(
    1,
    "Acme sells pumps to farms in France. The warranty of a pump ends two years after delivery. It does not cover the "
    "seals, because seals wear out within months.\n\nRepairs are made in Lyon by Marie Dupont, and a repair takes "
    "about nine days.",
    heading="Warranty",
)
STAFF = passage(
    2,
    "# Offices\n\nThe Lyon office opened in March 2014. Forty people work in the Lyon office, most of them mechanics. "
    "The Nantes office keeps the books.\n\nThere are three kinds of contract:\n\n- permanent contracts for mechanics\n"
    "- seasonal contracts for drivers\n- training contracts for apprentices\n\nHolidays are agreed in January.",
    heading="Offices",
)
GARDEN = passage(
    3,
    "Tomatoes want sun, and they want water every second day. A marmot is a large ground squirrel that lives in the "
    "mountains. Fig. 3. A marmot at rest.\nReferences\n[1] Smith et al. “Marmots of the Alps.” arXiv 2101.1 (2021).",
    heading="Garden",
)
PASSAGES = [TERMS, STAFF, GARDEN]
