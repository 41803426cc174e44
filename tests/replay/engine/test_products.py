"""Products with laid-out weights are those of torch's own `linear`."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import linear

from cachecast_replay.engine.products import can_pack, packed, product, rounded_rows


@pytest.mark.parametrize("rows", [0, 1, 16, 64, 65, 100, 513])
@pytest.mark.parametrize(("outputs", "inputs"), [(40, 48), (7, 33)])
def test_a_laid_out_product_is_that_of_linear(rows: int, outputs: int, inputs: int) -> None:
    weight = torch.randn(outputs, inputs, generator=torch.Generator().manual_seed(rows))
    if not can_pack(weight):
        pytest.skip("this torch has no oneDNN product for laid-out weights")
    x = torch.randn(rows, inputs)
    torch.testing.assert_close(packed(weight)(x), linear(x, weight), atol=1e-4, rtol=0)


def test_where_onednn_is_missing_torchs_linear_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    weight, x = torch.randn(5, 4), torch.randn(3, 4)
    assert not can_pack(weight)
    assert torch.equal(product(weight)(x), linear(x, weight))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_only_float32_is_laid_out(dtype: torch.dtype) -> None:
    weight = torch.ones(5, 4, dtype=dtype)
    assert not can_pack(weight)
    assert product(weight)(torch.ones(2, 4, dtype=dtype)).tolist() == [[4.0] * 5] * 2


@pytest.mark.parametrize(
    ("rows", "rounded"),
    [
        *((0, 0), (1, 4), (3, 4), (4, 4), (5, 5), (64, 64)),
        *((65, 68), (68, 68), (127, 128), (129, 136), (1025, 1088)),
    ],
)
def test_few_rows_become_four_and_many_are_rounded_up_to_sixteen_sizes_an_octave(
    rows: int, rounded: int
) -> None:
    assert rounded_rows(rows) == rounded


@given(st.integers(4, 8192))
def test_rounding_adds_at_most_a_sixteenth_from_four_rows_on(rows: int) -> None:
    assert rows <= rounded_rows(rows) <= rows + rows / 16
    assert rounded_rows(rounded_rows(rows)) == rounded_rows(rows)


def test_all_kernels_of_a_model_fit_where_onednn_keeps_them() -> None:
    """5 sizes of matrices, numbers of rows up to 8,192, room for 1,024."""
    assert 5 * len({rounded_rows(rows) for rows in range(1, 8193)}) <= 1024
