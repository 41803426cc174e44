"""`python -m cachecast` is the same command line."""

from cachecast.cli import main

if __name__ == "__main__":  # a process that helps with reading imports this file, too
    main()
