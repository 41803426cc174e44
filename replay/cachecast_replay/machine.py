"""On what something was measured, in words."""

import os
import platform


def machine_name(device: str = "cpu") -> str:
    """The processor's own name where the system tells it, and the cores this process may use;
    before them the GPU's name for a `device` that is one."""
    gpu = ""
    if device.startswith("cuda"):
        import torch

        gpu = f"{torch.cuda.get_device_name(device)}, "
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            names = [line.partition(":")[2] for line in stream if line.startswith("model name")]
        model = names[0].strip() if names else model
    except OSError:
        pass  # another system: platform's word has to do
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{gpu}{model}, {cores} core{'s' if cores != 1 else ''}"
