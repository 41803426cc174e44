"""One thread for torch in every test here: two processes of tests share the machine."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: the engine needs it")
    torch.set_num_threads(1)
