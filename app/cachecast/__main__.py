"""`python -m cachecast` is the same command line."""

from cachecast.cli import main

main()
