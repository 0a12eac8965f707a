"""Reading a whole index to see whether it is whole."""

from __future__ import annotations

from local_rag.index.store import checks
from local_rag.index.store.errors import changed, damaged, mendable
from local_rag.index.store.store import Store


def verify(store: Store, *, deep: bool = False) -> bool:
    """Raises IndexDamaged; False if only the file of quantized vectors was not whole, which is made anew."""
    finding = store.read(checks.damage)
    if finding:
        raise damaged(store.folder, finding)
    derived = store.read(checks.derived_damage, deep)
    if derived:
        raise mendable(store.folder, derived)
    if deep and (paths := store.read(checks.changed_passages)):
        raise changed(store.folder, paths)
    return store.mend_vectors_file(deep=deep)
