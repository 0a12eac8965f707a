"""What walking the indexed roots showed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from local_rag.core.documents import Skipped
from local_rag.index.store.schema import FileRow


@dataclass
class Walk:
    """What walking some roots showed. `files` are real paths, each with the path of the root that it was found from.

    `skipped` are files left out with a reason. `unseen` are roots, folders and links that could not be looked into,
    each with the reason: nothing may be concluded about what they hold. `empty` are roots that are folders without a
    file to index. `marked` are folders that a file in them calls a program's own. `left_out` are folders and known
    files that a rule leaves out, and secrets, each with the rule. `links` are roots with links out of them that were
    not followed, each with where the root really is. `ignored_below` counts the files of each root that
    nothing reads, by suffix.
    """

    files: dict[str, str] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    unseen: dict[str, str] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    marked: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    ignored_below: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def ignored(self) -> Counter[str]:
        """The files that nothing reads, by suffix."""
        return sum(self.ignored_below.values(), Counter())

    def why_unseen(self, file: FileRow) -> tuple[str, str] | None:
        """(path, reason) if the file may still be there, unseen."""
        above = [file.path, *map(str, Path(file.path).parents), file.root]
        for unseen in (self.unseen, self.marked):
            if found := next(((path, unseen[path]) for path in above if path in unseen), None):
                return found
        if file.root in self.empty and not self.why_left_out(file):
            return file.root, "suddenly contains no file to index"
        return None

    def why_left_out(self, file: FileRow) -> str:
        """The rule that leaves the file out, "" if none does."""
        above = [file.path, *map(str, Path(file.path).parents)]
        return next((self.left_out[path] for path in above if path in self.left_out), "")

    def is_behind_a_link(self, file: FileRow) -> bool:
        """Whether the file was found through a link out of its root, which has such links that are not followed."""
        home = self.links.get(file.root)
        return home is not None and not Path(file.path).is_relative_to(home)

    def why_member_left_out(self, path: str, member: str) -> str:
        return ""
