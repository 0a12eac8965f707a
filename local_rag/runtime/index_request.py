"""What a person or a program asks `runtime.indexing` to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.core.errors import UsageError

if TYPE_CHECKING:
    from local_rag.index.parse.loaders import Loader


@dataclass(frozen=True, slots=True)
class Request:
    """What to index: files and folders, and pages that were named; with neither, all files that are known.

    `excludes` are patterns as in .gitignore, which stay until `no_excludes` takes them back;
    `secrets` takes private keys and .env files in, too; `follow_links` what links out of a folder lead to (None: as
    before); `prune` removes what cannot be seen any more; `retry` tries again what could not be read; `reembed` makes
    new vectors from the stored text. `no_embed` brings text up to date and makes no vectors, `embed_only` does only
    that. `about` says what the index holds; empty: its catalog says it again. `loaders` of a program read files by
    their suffix, see `Index.sync`.
    """

    paths: Sequence[Path] = ()
    urls: Sequence[str] = ()
    excludes: Sequence[str] = ()
    no_excludes: Sequence[str] = ()
    secrets: bool = False
    follow_links: bool | None = None
    prune: bool = False
    retry: bool = False
    reembed: bool = False
    no_embed: bool = False
    embed_only: bool = False
    about: str | None = None
    loaders: Mapping[str, Loader] = field(default_factory=dict)

    @property
    def roots(self) -> list[Path]:
        """The paths, absolute and without links. Raises UsageError for what is no path."""
        from local_rag.index.sync.roots import real_path

        return [real_path(path) for path in self.paths]

    def check(self) -> None:
        """Raises UsageError for two options of which each forbids what the other asks for."""
        if self.no_embed and self.embed_only:
            raise UsageError(
                "--no-embed makes no vectors, and --embed-only makes nothing else: they exclude each other",
                hint="local-rag index --embed-only",
            )
        if self.no_embed and self.reembed:
            raise UsageError(
                "--reembed makes vectors anew, and --no-embed makes none: they exclude each other",
                hint="local-rag index --reembed",
            )
        walking = {
            "--exclude": self.excludes,
            "--no-exclude": self.no_excludes,
            "--include-secrets": self.secrets,
            "--follow-links": self.follow_links is not None,
            "--prune": self.prune,
            "--retry": self.retry,
            "--reembed": self.reembed,
            "a URL": self.urls,
            "a path": self.paths,
        }
        if self.embed_only and (given := [name for name, value in walking.items() if value]):
            raise UsageError(
                f"--embed-only reads no file and no page, so {given[0]} changes nothing with it",
                hint="local-rag index --embed-only",
            )

    @property
    def walk_options(self) -> dict[str, Any]:
        """How folders are walked."""
        return {
            "excludes": self.excludes,
            "no_excludes": self.no_excludes,
            "secrets": self.secrets,
            "follow_links": self.follow_links,
        }
