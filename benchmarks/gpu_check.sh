#!/usr/bin/env bash
# Trains four specs on one NVIDIA GPU and on the CPU of the same machine, and compares the losses.
#
#   benchmarks/gpu_check.sh              emit, then train and compare: under ten minutes
#   benchmarks/gpu_check.sh emit FOLDER  only emit the scripts; needs specc, no GPU
#   benchmarks/gpu_check.sh run FOLDER   only train and compare; needs torch, not specc
#
# PYTHON names the interpreter, STEPS the steps of each training. DEVICE=cpu compares the CPU with
# itself, to try this script where there is no GPU.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
python=${PYTHON:-python3}
steps=${STEPS:-20}
device=${DEVICE:-cuda}

# Name, spec, and what makes it one rank of a size that a CPU trains in seconds.
cases=(
    "toy_ddp|specs/toy_ddp.spec|"
    "quickstart|specs/quickstart/quickstart.spec|mesh.dp=1 train.save.every=100000 train.evaluate.every=100000"
    "tinyllm|specs/tinyllm.spec|d=256 vocab=2048 S=64 depth=4"
    "tensor|specs/tensor.spec|mesh.tp=1 d=256 vocab=2048"
)

emit() {
    local folder=$1
    mkdir -p "$folder"
    for case in "${cases[@]}"; do
        IFS='|' read -r name spec settings <<<"$case"
        flags=(--ranks 1 --set "train.steps=$steps" --set train.seed=1)
        for setting in $settings; do flags+=(--set "$setting"); done
        for target in cpu "$device"; do
            (cd "$root" && PYTHONPATH=$root "$python" -m specc emit "$spec" --target "$target" \
                "${flags[@]}" -o "$folder/${name}_$target.py" 2>/dev/null)
        done
    done
    cp "$here/compare_losses.py" "$folder/"
    echo "scripts for cpu and $device: $folder"
}

train() {
    local folder=$1 log
    cd "$folder"
    for case in "${cases[@]}"; do
        name=${case%%|*}
        for target in cpu "$device"; do
            rm -f "${name}_$target.jsonl"
            log=${name}_$target.log
            METRICS=${name}_$target.jsonl timeout 180 "$python" "${name}_$target.py" >"$log" 2>&1 ||
                { echo "$name on $target failed:" && tail -n 20 "$log" && exit 1; }
        done
    done
    "$python" compare_losses.py --device "$device" toy_ddp quickstart tinyllm tensor
}

mode=${1:-all}
folder=$(realpath -m "${2:-$(mktemp -d)}")
case $mode in
    emit) emit "$folder" ;;
    run) train "$folder" ;;
    all) emit "$folder" && train "$folder" ;;
    *) echo "usage: $0 [emit|run FOLDER]" >&2 && exit 2 ;;
esac
