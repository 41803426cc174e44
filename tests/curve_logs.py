"""A log for the tests of `cachecast curve`."""

import json
from pathlib import Path


def three_requests(folder: Path) -> Path:
    """Three requests of 512-token blocks: A B C(76 tokens), A D at 60 s, A B C again at 100 s."""
    rows = [
        {"timestamp": 0, "input_length": 1_100, "output_length": 1, "hash_ids": [1, 2, 3]},
        {"timestamp": 60_000, "input_length": 1_024, "output_length": 1, "hash_ids": [1, 4]},
        {"timestamp": 100_000, "input_length": 1_100, "output_length": 1, "hash_ids": [1, 2, 3]},
    ]
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
