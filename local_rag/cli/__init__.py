"""The command line: one module per command. `main` is the program `local-rag`."""


def main() -> None:
    """Run the command that the process was started with; it leaves the process with the exit code."""
    from local_rag.cli.app import main

    main()
