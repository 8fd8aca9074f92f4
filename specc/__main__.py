"""Runs the command line as `python -m specc`."""

import sys

from specc.cli import main

if __name__ == "__main__":
    sys.exit(main())
