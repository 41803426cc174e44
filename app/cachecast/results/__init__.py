"""The results store: a run is a folder of Parquet tables and one `run.json`.

`writer` makes such a folder whole or not at all, `reader` opens one in DuckDB with the documented
views of `views`, and `schema` says what is in each table.
"""

from cachecast.results.reader import connect, read_info
from cachecast.results.writer import RunWriter

__all__ = ["RunWriter", "connect", "read_info"]
