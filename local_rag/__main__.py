"""Run the program `local-rag` as `python -m local_rag`."""

from local_rag.cli import main

if __name__ == "__main__":
    main()
