"""What could not be indexed, why, and what a person can do about it."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from local_rag.server.file_listings import FileListing, shown

FIXES = (
    ("no text layer", "make its text readable first, for instance with ocrmypdf, then bring the index up to date"),
    ("may hold secrets", "local-rag index --include-secrets {folder}"),
    ("link out of the indexed folder", "local-rag index --follow-links {folder}"),
    ("took longer than", "local-rag index --retry"),
    ("the parser crashed", "local-rag index --retry"),
    ("of memory to read", "local-rag index --retry"),
    ("are read", "split it into smaller files"),
    ("no loader for", "save it as PDF, DOCX, Markdown or text beside it"),
    ("is damaged", "open it in the program that made it, and save it anew"),
    ("could not be read (damaged)", "open it in the program that made it, and save it anew"),
    ("is not Unicode", "rename it"),
    ("cannot be opened", "allow this account to read it, then bring the index up to date"),
    ("link leads in a circle", "remove the link"),
    ("zip bomb", "unzip it yourself if you trust it, and index what is in it"),
    ("DRM", "there is none: its publisher keeps programs from reading it"),
)
"""What stands in the reason of a skipped file, and what a person can do about it."""


@dataclass(frozen=True, slots=True)
class SkippedView:
    """What could not be indexed, wholly or (`partly`) in part, why, and what to do about it ("" for nothing)."""

    label: str
    reason: str
    fix: str
    partly: bool = False


def skipped_files(listing: FileListing, reported: Collection[tuple[str, str]]) -> list[SkippedView]:
    """What the last syncs reported as (path, reason), by reason and name."""
    views = [skipped_view(listing, path, reason) for path, reason in reported]
    return sorted(views, key=lambda view: (view.reason, view.label.casefold()))


def skipped_view(listing: FileListing, path: str, reason: str) -> SkippedView:
    """A file as a client sees it; what is in the index all the same was skipped in part."""
    fix = next((fix for sign, fix in FIXES if sign in reason), "")
    if "{folder}" in fix:
        folders = (root.path for root in listing.roots if Path(path).is_relative_to(root.path))
        fix = fix.format(folder=shlex.quote(next(folders, "FOLDER")))
    return SkippedView(shown(listing.label(path)), shown(reason), shown(fix), path in listing.files)
