"""Update an index while its files change, for `local-rag watch` and `serve --watch`.

A change that the system reports is only a hint; the ordinary sync then checks every file itself. A lost hint therefore
only delays the update until the next sweep.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from local_rag.config.settings import Settings
from local_rag.core.documents import SyncReport
from local_rag.core.errors import IndexBusy, LocalRagError, Stopped
from local_rag.index.sync.ignore import is_hidden
from local_rag.text.display import home_path, joined, plural

QUIET = 3.0
"""Seconds without a change before a file is read, and between two checks of its size and time."""
LONGEST_WAIT = 60.0
"""Seconds after which a file is read even if it keeps changing, such as a log."""
SWEEP = 900.0
"""Seconds between two syncs without a hint, because network disks report no changes."""
PAUSE_BELOW = 20
"""Percent of a battery below which nothing is read."""
FLOOD = 10_000
"""The number of changes at once after which the hints are set up anew: some may have been lost.

Linux keeps 16,384: inotify(7), max_queued_events.
"""
NAMED = 3
"""The maximum number of files to name for each kind of change."""

CHANGES = ("st_size", "st_mtime_ns")
POWER = Path("/sys/class/power_supply")
_IGNORE_FILES = (".gitignore", ".ragignore")

Roots = Mapping[str, tuple[int, ...] | None]
"""The indexed folders and files with their device and inode, None for one that does not exist now."""


@dataclass
class Pending:
    """Collect files that have changed, with their size and time at the last check."""

    quiet: float = QUIET
    looks: dict[str, tuple[int, ...] | None] = field(default_factory=dict)
    first: float = 0.0
    last: float = 0.0

    def add(self, paths: Iterable[str]) -> None:
        looks = {path: look(path, *CHANGES) for path in paths}
        if looks:
            self.last = time.monotonic()
            self.first = self.first if self.looks else self.last
            self.looks |= looks

    def settled(self) -> bool:
        """Return whether nothing has changed for a while and all files look as before, or the wait is too long."""
        now = time.monotonic()
        if not self.looks or now - self.first > LONGEST_WAIT:
            return bool(self.looks)
        if now - self.last < self.quiet:
            return False
        before, self.looks, self.last = self.looks, {path: look(path, *CHANGES) for path in self.looks}, now
        return before == self.looks


class Watching:
    """Update one index when its files change; `state` is a line on the current activity.

    `changed` describes the last update and `changed_at` is its time in ISO 8601; both are empty at first. `sync`
    updates the index and raises what `Index.sync` raises. `say` receives each new state, and a line for each sync that
    changed something.
    """

    def __init__(
        self, settings: Settings, sync: Callable[[], SyncReport], say: Callable[[str], None], quiet: float = QUIET
    ) -> None:
        self.state = self.changed = self.changed_at = ""
        self._settings, self._sync, self._say, self._quiet = settings, sync, say, quiet
        self._pending, self._swept, self._way = Pending(quiet), 0.0, ""

    def run(self, stop: threading.Event) -> None:
        """Watch until `stop` is set; on the main thread Ctrl-C ends it with KeyboardInterrupt."""
        while not stop.is_set():
            roots = self._roots()
            with closing(self._hints(roots, stop)) as hints:
                for paths in hints:
                    now = self._roots()
                    replaced = {path for path in {**roots, **now} if roots.get(path) != now.get(path)}
                    self._pending.add(replaced | {path for path in paths if self._counts(path, roots)})
                    if replaced or len(paths) > FLOOD:
                        break
                    if not roots:
                        self._tell("waiting: no folder is indexed yet")
                    elif self._pending.settled() or not 0 <= time.time() - self._swept < SWEEP:
                        self._bring_up_to_date()

    def _bring_up_to_date(self) -> None:
        """Sync the index, unless the battery is low; report an error and try again later."""
        share = battery()
        if share is not None and share < PAUSE_BELOW:
            self._tell(f"paused: the battery has {share} %; it goes on at {PAUSE_BELOW} %, or with mains power")
            return
        if not self.state:
            self._tell("bringing the index up to date")
        self._pending.looks.clear()
        self._swept = time.time()  # wall-clock time, so that a machine sweeps after sleep
        try:
            report = self._sync()
        except Stopped:
            return
        except IndexBusy:
            self._swept = 0.0
            self._tell("another process changes this index; what has changed is read after it")
        except LocalRagError as error:
            again = "tried again at the next change, and every 15 minutes"
            self._tell(f"{error}{f': {error.hint}' if error.hint else ''} ({again})")
        else:
            gc.collect()  # the garbage of one sync is little, but this runs for months
            self._tell(self._way)
            if changed := changes(report):
                now = datetime.now().astimezone().replace(microsecond=0)
                self.changed, self.changed_at = changed, now.isoformat()
                self._say(f"{now:%Y-%m-%d %H:%M:%S} {changed} ({report.seconds:.1f} s)")

    def _tell(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self._say(state)

    def _roots(self) -> Roots:
        from local_rag.index.index import Index

        try:
            with Index.open(self._settings.index_path) as index:
                return {root.path: look(root.path, "st_dev", "st_ino") for root in index.store.roots()}
        except LocalRagError as error:
            self._tell(f"waiting: {error}")
            return {}

    def _hints(self, roots: Roots, stop: threading.Event) -> Generator[set[str]]:
        """Yield paths that may have changed, or an empty set after a while without changes."""
        from watchfiles import watch

        heard = [path for path, place in roots.items() if place]
        parts = [f"watching {joined(map(home_path, heard))}"] if heard else []
        away = (home_path(path) for path, place in roots.items() if not place)
        self._way = "; ".join([*parts, *(f"{path} is not there now, what was indexed of it stays" for path in away)])
        for lenient in (False, True) if heard else ():
            try:
                yield from (
                    {path for _, path in changes}
                    for changes in watch(
                        *heard,
                        watch_filter=None,
                        stop_event=stop,
                        rust_timeout=round(1000 * self._quiet),
                        yield_on_timeout=True,
                        force_polling=False,
                        ignore_permission_denied=lenient,  # this would ignore the limit of inotify too
                    )
                )
            except PermissionError:
                continue  # the sync reports the folder
            except (OSError, RuntimeError) as error:
                self._way = f"looking at every folder every 15 minutes: {_too_many(error)}"
            break
        while not stop.wait(self._quiet):
            yield set()

    def _counts(self, path: str, roots: Roots) -> bool:
        """Return whether a change may concern the index: not for hidden files, and not for our own."""
        changed = Path(path)
        root = next((Path(root) for root in roots if changed.is_relative_to(root)), None)
        if root is None or changed.name in _IGNORE_FILES:
            return root is not None
        index = self._settings.index_path
        ours = [self._settings.data_folder, self._settings.cache_folder, *([index] if isinstance(index, Path) else [])]
        if any(changed.is_relative_to(own) and own.is_relative_to(root) for own in ours):
            return False
        return not any(is_hidden(part, True) for part in changed.relative_to(root).parts)


def changes(report: SyncReport) -> str:
    """Return the changes of a sync: "added notes/a.md; changed notes/b.md"; empty if there are none."""
    files = {"added": report.new, "changed": report.updated, "removed": report.removed}
    named = {what: [*map(home_path, paths)] for what, paths in files.items()}
    named["skipped"] = [f"{home_path(file.path)} ({file.reason})" for file in report.skipped if file.new]
    parts = []
    for what, names in named.items():
        rest = [f"{len(names) - NAMED:,} more"] if len(names) > NAMED else []
        parts += [f"{what} {joined([*names[:NAMED], *rest])}"] if names else []
    embedded = [f"{plural(report.embedded, 'passage')} embedded"] if report.embedded else []
    return "; ".join(parts or embedded)


def _too_many(error: Exception) -> str:
    """Return why the system gives no hints, with the command that raises its limits: inotify(7)."""
    for sign, setting in (("limit reached", "max_user_watches=524288"), ("Too many open", "max_user_instances=512")):
        if sign in str(error):
            return f"the limit of inotify is reached, sudo sysctl fs.inotify.{setting} raises it"
    return str(error)


def battery(supplies: Path = POWER) -> int | None:
    """Return the percent of the battery that powers this machine; None on mains and on systems other than Linux.

    https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-class-power
    """
    shares = []
    for supply in supplies.glob("*"):
        with suppress(OSError, ValueError):
            is_ours = not (supply / "scope").exists()  # the battery of a mouse has a scope
            if is_ours and (supply / "status").read_text().strip() == "Discharging":
                shares.append(int((supply / "capacity").read_text()))
    return min(shares, default=None)


def look(path: str, *what: str) -> tuple[int, ...] | None:
    """Return the named fields of a path's `stat`; None if the path does not exist."""
    with suppress(OSError, ValueError):
        status = Path(path).stat()
        return tuple(getattr(status, each) for each in what)
    return None
