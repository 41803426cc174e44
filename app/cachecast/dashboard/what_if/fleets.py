"""Own servers in a few numbers: a text for the page's address, a fleet file for the command."""

from dataclasses import dataclass

from cachecast_datasets.errors import BadInput
from cachecast_sim.fleet.routers import ROUTERS
from cachecast_sim.latency.catalog import hardware_catalog, hardware_named, model_catalog

_MOST = 4_096
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Fleet:
    """Servers all alike, with shipped hardware and model shape. `gpu_hour` is a price in USD."""

    servers: int
    hardware: str
    model: str
    tensor_parallel: int = 1
    router: str = "cache_aware"
    gpu_hour: str | None = None

    @property
    def text(self) -> str:
        """`4xh200-sxm:llama-3.1-8b:tp1:cache_aware:2.50`."""
        parts = (
            f"{self.servers}x{self.hardware}", self.model, f"tp{self.tensor_parallel}", self.router,
        )  # fmt: skip
        return ":".join((*parts, *(() if self.gpu_hour is None else (self.gpu_hour,))))

    def toml(self) -> str:
        """The fleet file. Steps take what the roofline of the hardware says."""
        memory = hardware_named(self.hardware).memory_bytes / _GIB
        cost = "" if self.gpu_hour is None else f'\n[cost]\ngpu_hour = "{self.gpu_hour}"\n'
        return (
            f'[fleet]\nservers = {self.servers}\nrouter = "{self.router}"\n\n'
            f'[engine]\nmodel = "{self.model}"\nmemory_gib = {memory:g}\n'
            f"tensor_parallel = {self.tensor_parallel}\n\n"
            f'[latency]\nkind = "roofline"\nmodel = "{self.model}"\n'
            f'hardware = "{self.hardware}"\ntensor_parallel = {self.tensor_parallel}\n{cost}'
        )


def fleet_of(text: str) -> Fleet:
    """The text read back. BadInput for anything else, a path of a file among it."""
    first, *others = text.split(":")
    servers, _, hardware = first.partition("x")
    if len(others) not in (3, 4) or not _count(servers) or not _count(others[1][2:]):
        raise _unreadable(text)
    model, parallel, router, *price = others
    known = hardware in hardware_catalog() and model in model_catalog() and router in ROUTERS
    if not known or not parallel.startswith("tp") or not all(map(_amount, price)):
        raise _unreadable(text)
    return Fleet(int(servers), hardware, model, int(parallel[2:]), router, *price)


def is_fleet(text: str) -> bool:
    """Whether `fleet_of` can read it."""
    try:
        fleet_of(text)
    except BadInput:
        return False
    return True


def _unreadable(text: str) -> BadInput:
    return BadInput(
        f"fleet={text}: expected servers as 4xh200-sxm:llama-3.1-8b:tp1:cache_aware:2.50 "
        "(count and GPU, model, tensor parallelism, router, price of a GPU hour); fleet files are "
        "for the command line"
    )


def _count(text: str) -> bool:
    return text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= _MOST and len(text) < 6


def _amount(text: str) -> bool:
    whole, _, part = text.partition(".")
    digits = whole + part
    return digits.isascii() and digits.isdigit() and bool(whole) and len(text) < 16
