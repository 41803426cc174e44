"""One file per log format; `cachecast_datasets.sources` lists them and sniffs."""
