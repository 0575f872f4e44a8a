"""`python -m blockmark` is the command `blockmark`."""

from blockmark.cli import main

if __name__ == "__main__":
    main()
