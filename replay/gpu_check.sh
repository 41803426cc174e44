#!/usr/bin/env bash
# The engine on a CUDA machine, from a plain checkout and without a network: its tests with the GPU
# among their devices, then a short benchmark. Needs python3 with torch, pytest, hypothesis, xxhash
# and numpy; PYTHON names another interpreter. Takes less than six minutes, or ends with an error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-python3}
export PYTHONPATH=$PWD/datasets:$PWD/pricing:$PWD/sim:$PWD/replay:$PWD/app:$PWD/tests
export PYTHONUNBUFFERED=1

"$python" - <<'CODE'
import sys

try:
    import torch
except ImportError:
    sys.exit("gpu_check: this python has no torch; PYTHON=... names one that has")
if not torch.cuda.is_available():
    sys.exit("gpu_check: torch finds no CUDA GPU on this machine")
print(torch.__version__, torch.cuda.get_device_name(), "CUDA", torch.version.cuda)
CODE

# The conftest of all packages needs what a GPU machine may lack, and so do the tests left out here.
timeout 200 "$python" -m pytest -q -p no:cacheprovider -o filterwarnings=default \
    --confcutdir=tests/replay --hypothesis-profile=ci \
    tests/replay/engine/test_{blocks,scheduler,attention,reuse,weights,engine,transformers}.py
timeout 150 "$python" benchmarks/engine_gpu.py
