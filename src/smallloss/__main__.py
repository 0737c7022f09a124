"""`python -m smallloss`: the command line where no script was installed."""

from smallloss.cli import main

if __name__ == "__main__":
    main()
