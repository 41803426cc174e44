"""Counts of tokens as sources write them."""

from typing import Annotated

import msgspec

from cachecast_datasets.limits import MAX_TOKENS

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_TOKENS)]
