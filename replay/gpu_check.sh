#!/usr/bin/env bash
# The whole check on a CUDA machine, from a plain checkout and without a network, in less than six
# minutes: prefill and decode of an 8-billion-parameter Llama in bfloat16 as shares of the matrix
# rate and the bandwidth measured beside them; for the same model the table of replay/validate.py;
# and the engine's tests on the GPU. Needs some 45 GB of GPU memory. PYTHON names an interpreter,
# PYTHONPATH more places for packages that it lacks.
#
#     replay/gpu_check.sh [--dry-run]
#
# --dry-run: the same with a tiny model on the CPU, without the engine's tests; its figures mean
# nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-python3}
more=${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH=$PWD/datasets:$PWD/pricing:$PWD/sim:$PWD/replay:$PWD/app:$PWD/tests$more
export PYTHONUNBUFFERED=1

case ${1-} in
'') device=cuda shares='--device cuda --attention varlen --attention sdpa'
    checks='--load 0.5 --load 0.8 --sessions 10 --calibrate-s 40 --within-s 190'
    sizes='"hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
        "num_key_value_heads": 8, "num_hidden_layers": 32, "vocab_size": 128256' ;;
--dry-run) device=cpu shares='--device cpu --small --attention sdpa'
    checks='--load 0.5 --sessions 3 --calibrate-s 1 --within-s 190 --replays 2'
    sizes='"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2,
        "num_key_value_heads": 1, "num_hidden_layers": 1, "vocab_size": 4096' ;;
*) echo "gpu_check: $1 is unknown; the only option is --dry-run" >&2; exit 2 ;;
esac

"$python" - $device <<'CODE'
import sys
from importlib.util import find_spec

needed = "click duckdb msgspec numpy pyarrow rich scipy simpy torch xxhash zstandard".split()
if sys.argv[1] == "cuda":
    needed += ["hypothesis", "pytest"]
if missing := [name for name in needed if find_spec(name) is None]:
    sys.exit(f"gpu_check: this python lacks {', '.join(missing)}; PYTHON=... names another one, "
             "PYTHONPATH=... a folder that has them")
import torch

if sys.argv[1] == "cuda":
    if not torch.cuda.is_available():
        sys.exit("gpu_check: torch finds no CUDA GPU on this machine; --dry-run needs none")
    print(torch.__version__, torch.cuda.get_device_name(), "CUDA", torch.version.cuda)
CODE

model=$(mktemp -d)
trap 'rm -rf "$model"' EXIT
echo "{\"model_type\": \"llama\", \"rope_theta\": 500000.0, $sizes}" >"$model/config.json"

timeout 50 "$python" benchmarks/engine_gpu.py --model "$model" $shares
timeout 210 "$python" replay/validate.py --model "$model" --device $device --raw $checks
if [ $device = cuda ]; then
    # The conftest of all packages needs what a GPU machine may lack, and so do other tests.
    timeout 80 "$python" -m pytest -q -p no:cacheprovider -o filterwarnings=default \
        --confcutdir=tests/replay --hypothesis-profile=ci -k "cuda or gpu" \
        tests/replay/engine/test_{attention,reuse,engine,transformers}.py
fi
