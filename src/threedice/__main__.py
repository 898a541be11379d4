"""`python -m threedice` is `threedice`."""

from threedice.cli import main

if __name__ == "__main__":
    main()
