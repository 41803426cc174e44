"""What one GPU can do at best."""

from dataclasses import dataclass
from decimal import Decimal

from cachecast_datasets.errors import BadInput


@dataclass(frozen=True, slots=True)
class Hardware:
    """Dense FLOP/s, memory and links of one GPU, from its data sheet.

    `fp8_flops_per_s` is None without FP8 tensor cores. `interconnect_bytes_per_s` adds both
    directions, as data sheets do.
    """

    name: str
    bf16_flops_per_s: Decimal
    fp16_flops_per_s: Decimal
    fp8_flops_per_s: Decimal | None
    memory_bytes: int
    memory_bytes_per_s: Decimal
    interconnect: str
    interconnect_bytes_per_s: Decimal
    source: str
    checked: str

    def flops_per_s(self, weight_dtype: str) -> Decimal:
        """Matrix FLOP/s with weights of that dtype.

        8-bit floats use the FP8 units where there are any; integers and 4-bit weights are widened
        to 16 bits before they are multiplied, as kernels for weight-only quantisation do. BadInput
        for fp32, which the sheets give no comparable rate for.
        """
        if weight_dtype == "fp32":
            raise BadInput(
                f"{self.name}: its data sheet has no rate for fp32 weights; expected "
                'weight_dtype = "bf16" or another of 16 bits or fewer'
            )
        if weight_dtype == "fp8" and self.fp8_flops_per_s is not None:
            return self.fp8_flops_per_s
        return self.fp16_flops_per_s if weight_dtype == "fp16" else self.bf16_flops_per_s
