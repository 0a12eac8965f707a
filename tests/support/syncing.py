"""What a person does to files or pages, as rows of steps, and what a sync says of them in a line."""

from __future__ import annotations


def done(person, steps):
    """Do the steps: the name of a method of `person`, its arguments and, last, its options."""
    for name, *arguments in steps:
        options = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
        getattr(person, name)(*arguments, **options)


def told(report, name, parsed=0):
    """What a report names, "!" behind what is new of warnings, and what it counts."""
    named = {kind: list(map(name, getattr(report, kind))) for kind in ("new", "updated", "removed")}
    for kind in ("skipped", "kept"):
        named[kind] = [name(file.path) + "!" * file.new for file in getattr(report, kind)]
    named["forgotten"] = [name(file.path) for file in report.forgotten]
    counted = {"unchanged": report.unchanged, "reused": report.reused, "parsed": parsed}
    lists = {kind: " ".join(sorted(names)) for kind, names in named.items()}
    return ", ".join(f"{kind} {value}" for kind, value in (lists | counted).items() if value)
