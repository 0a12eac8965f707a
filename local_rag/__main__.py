"""`python -m local_rag` is the program `local-rag`."""

from local_rag.cli import main

if __name__ == "__main__":
    main()
