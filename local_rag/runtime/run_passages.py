"""The passages of a run, read again from the index: a record holds their places, and no text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.core.errors import IndexMissing, LocalRagError
from local_rag.runtime.kept import KeptRun, Line
from local_rag.text.display import short_path

if TYPE_CHECKING:
    from local_rag.index.joint import JointIndex
    from local_rag.index.path_labels import PathLabel
    from local_rag.index.store.schema import Stored

CHANGED = "the file has changed since"
GONE = "no longer in the index"
WEB = "a page of the web or of a fallback corpus, whose text is not kept"


@dataclass(frozen=True)
class RunPassages:
    """What is there now of the passages of a run. `label` names files; `trouble`: why the index says nothing."""

    stored: Stored | None
    label: PathLabel = short_path
    trouble: str = ""
    places: dict[str, Line] = field(default_factory=dict)

    @classmethod
    def of(cls, run: KeptRun) -> RunPassages:
        """Read them from the index of the run, or from all that it asked as one."""
        from local_rag.index.index import Index

        places = {str(passage["chunk_id"]): passage for passage in run.passages}
        if not run.folder:
            return cls(None, trouble="a corpus of a program was asked, whose passages are not kept", places=places)
        folders = [Path(folder) for folder in (run.folder, *run.others)]
        try:
            index = _opened(folders) if run.others else Index.open(folders[0])
            with index:
                return cls(index.stored(places), index.path_labels(), places=places)
        except IndexMissing:
            return cls(None, trouble="its index is gone, so passages cannot be shown again", places=places)
        except LocalRagError as error:
            return cls(None, trouble=f"passages cannot be shown again: {error}", places=places)

    def text(self, passage: Line) -> tuple[str | None, str]:
        """The text of a passage and "", or None and why there is none."""
        known = self.stored.passages.get(str(passage["chunk_id"])) if self.stored else None
        if known:
            return known.text, ""
        if passage["origin"] == "web":
            return None, WEB
        if self.stored is None:
            return None, GONE
        return None, CHANGED if passage["source"] in self.stored.files else GONE

    def place(self, chunk_id: str | None) -> str:
        """Page, or else heading, of a passage as it stands behind its file; "" where none is known."""
        passage = self.places.get(chunk_id or "")
        if passage is None:
            return ""
        if passage["page"] is not None:
            return f", p. {passage['page']}"
        return f", § {passage['heading']}" if passage["heading"] else ""

    def note(self, content: str) -> str:
        """What to know of the index: that it has changed since, as far as that is known, or cannot be read."""
        if self.stored is None:
            return self.trouble
        return "the index has changed since" if content not in ("", self.stored.content) else ""


def _opened(folders: Sequence[Path]) -> JointIndex:
    """Indexes as one."""
    from local_rag.index.index import Index
    from local_rag.index.joint import JointIndex

    with ExitStack() as opened:
        indexes = {str(folder): opened.enter_context(Index.open(folder)) for folder in folders}
        opened.pop_all()
        return JointIndex(indexes)
