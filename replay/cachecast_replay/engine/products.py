"""Products with weights: laid out once for oneDNN on a CPU, torch's `linear` elsewhere."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import linear, pad

Product = Callable[[Tensor], Tensor]  # (rows, inputs) -> (rows, outputs)

# the layout that is best for this many rows is good for all: measured from 1 to 512
LAYOUT_ROWS = 16
EXACT_ROWS = 64  # up to here every number of rows has a kernel of its own
# with weights out of memory one to three rows take 6 to 38 % longer than four (docs/validation.md)
FEWEST_ROWS = 4


def product(weight: Tensor) -> Product:
    """Multiply rows with `weight` (outputs, inputs), by the fastest way that is here.

    torch has no public name for the laid-out product; torch.compile uses the same two operations.
    It is 1.2 to 1.6 times as fast as `linear` on a CPU (docs/performance.md).
    """
    return packed(weight) if can_pack(weight) else lambda rows: linear(rows, weight)


def can_pack(weight: Tensor) -> bool:
    """Whether this torch can lay `weight` out for oneDNN."""
    has_onednn: Callable[[], bool] = torch.backends.mkldnn.is_available
    return (
        (weight.device.type, weight.dtype) == ("cpu", torch.float32)
        and has_onednn()
        and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )


def packed(weight: Tensor) -> Product:
    """The product through oneDNN; it needs `can_pack`."""
    laid_out = torch.ops.mkldnn._reorder_linear_weight(weight, LAYOUT_ROWS)
    multiply = torch.ops.mkldnn._linear_pointwise

    def apply(rows: Tensor) -> Tensor:
        wide = widened(rows)
        found: Tensor = multiply(wide, laid_out, None, "none", [], "")
        return found if wide is rows else found[: len(rows)]

    return apply


def widened(rows: Tensor) -> Tensor:
    """`rows` with rows of zeros below, as many as `rounded_rows` asks for; itself if none."""
    more = rounded_rows(len(rows)) - len(rows)
    return pad(rows, (0, 0, 0, more)) if more else rows


def rounded_rows(rows: int) -> int:
    """At least FEWEST_ROWS, and above EXACT_ROWS `rows` rounded up to one of 16 sizes an octave.

    oneDNN makes a kernel for each number of rows, half a millisecond the first time, and keeps
    1,024 of them: all sizes of a model's matrices up to 8,192 rows fit, for 3 % more work.
    """
    if rows <= EXACT_ROWS:
        return max(rows, FEWEST_ROWS) if rows else 0
    grain = 1 << (rows.bit_length() - 5)
    return -(-rows // grain) * grain
