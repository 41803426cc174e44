"""On what something was measured."""

import pytest
import torch

from cachecast_replay.machine import machine_name


def test_a_gpu_is_named_before_the_machine_it_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"cuda:1": "NVIDIA H200"}
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: names[device])
    assert machine_name("cuda:1") == f"NVIDIA H200, {machine_name()}"
