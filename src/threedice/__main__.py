"""Run the command line with `python -m threedice`."""

from threedice.cli import main

if __name__ == "__main__":
    main()
