"""Request logs: the schema, readers of other people's logs, and the import into Parquet."""
