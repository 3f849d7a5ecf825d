#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 90
# The tensor-parallel layer from Python: by tern.launch and by tern run, with weights by chance, from
# .safetensors (bfloat16 too) and from .npy; and that it sees a wrong kernel and wrong files.
source "$(dirname "$0")/../support/shell.sh"
source "$root/test/support/python.sh"
find_python
export PATH=$build/bin:$PATH TERN_TIMEOUT=30
layer=$root/examples/python/tp_ffn/tp_ffn.py

expect 0 "the same bits on all ranks" "$python" "$layer" --ranks 2 --save layer.safetensors
grep -q "^2 ranks, 64 tokens in 4 chunks, hidden 64, intermediate 192, weights of seed 1$" said ||
    die "the shape is not said: $(cat said)"
expect 0 "verified: " tern run -n 3 "$python" "$layer" --hidden 96 --tokens 7 --chunks 9 --cores 2
expect 0 "verified: " "$python" "$layer" --ranks 1 --runs 1

# The same weights in three forms; hidden and intermediate come from the files.
"$python" - <<'EOF'
import numpy as np
from tern import safetensors
import os
os.mkdir("folder")
with safetensors.open_file("layer.safetensors") as file:
    for name in file:
        np.save(f"folder/{name}.npy", file[name])
    bits = {name: (file[name].view("u4") >> 16).astype("u2") for name in file}
    safetensors.save_file("bf16.safetensors", bits, dtypes=dict.fromkeys(bits, "BF16"))
    safetensors.save_file("odd.safetensors", {**dict(file), "up": file["up"][:, 1:]})
    safetensors.save_file("less.safetensors", {"x": file["x"]})
EOF
for weights in layer.safetensors bf16.safetensors folder; do
    expect 0 "verified: " "$python" "$layer" --ranks 4 --tokens 1 --weights "$weights"
    grep -q "^4 ranks, 64 tokens .* weights from $weights$" said || die "$weights: $(cat said)"
done

head -c 5000 layer.safetensors >cut.safetensors
expect 1 "cut.safetensors: the tensors take" "$python" "$layer" --ranks 2 --weights cut.safetensors
expect 1 "has no tensor 'linear'" "$python" "$layer" --ranks 2 --weights less.safetensors
expect 1 "do not fit" "$python" "$layer" --ranks 2 --weights odd.safetensors
expect 1 "No such file" "$python" "$layer" --ranks 2 --weights nothing.safetensors
expect 1 "5 ranks cannot share a hidden size of 64" tern run -n 5 "$python" "$layer"
[ "$("$python" "$layer" --ranks 2 --weights cut.safetensors 2>&1 | wc -l)" = 1 ] ||
    die "a wrong file is more than a sentence"

# A kernel that forgets to multiply by `up` is found out; one that does not compile is shown.
cp -r "$root/examples/python/tp_ffn" wrong
sed -i 's/ \* u\[i\];/;/' wrong/kernels.cpp
expect 1 "tp_ffn.py: wrong: an error of" "$python" wrong/tp_ffn.py --ranks 2
sed -i 's/float sums/flaot sums/' wrong/kernels.cpp
expect 1 "kernels.cpp:" "$python" wrong/tp_ffn.py --ranks 2
echo "python_tp_ffn.sh: the layer is right, and wrong ones are found"
