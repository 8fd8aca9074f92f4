"""What the errors that users of torch_musa met mean, and the commands that tell versions.

Sources are releases (`rel`) and issues (`#`) of github.com/MooreThreads/torch_musa unless another
repository is named; read until 2026-11.
"""

from specc.targets.symptom import Symptom, VersionTool

# Forms of output: #87, #101 (musa_version_query), #101 (mthreads-gmi).
TOOLS = (
    VersionTool(
        "MUSA SDK",
        ("musa_version_query",),
        r'musa_toolkits:\s*\{[^}]*?"version":\s*"([^"]+)"',
    ),
    VersionTool(
        "MCCL of the SDK", ("musa_version_query",), r'mccl:\s*\{[^}]*?"version":\s*"([^"]+)"'
    ),
    VersionTool("driver", ("mthreads-gmi",), r"Driver Version:\s*(\S+)"),
)

_SKEW = "install the driver, SDK and wheels of one release: `specc doctor --target musa` shows them"

# Specific texts come first: the first pattern that matches is shown.
SYMPTOMS = (
    Symptom(
        r"undefined symbol: PVRSRV",
        "the driver is older or newer than the MUSA SDK",
        _SKEW,
        "#24",
    ),
    Symptom(
        r"libmusa_python\S*: undefined symbol|undefined symbol\S* \S*libmusa_python",
        "torch_musa was built for another MUSA SDK",
        _SKEW,
        "#101",
    ),
    Symptom(
        r"libmusa_kernels\S*: undefined symbol",
        "torch_musa needs the torch wheel of its own release; the one from PyPI lacks its patches",
        "install torch and torch_musa from the same torch_musa release page",
        "#63",
    ),
    Symptom(
        r"libmccl\.so\S*: cannot open shared object",
        "the MCCL library is not installed: old toolkits, and those for S80 and S3000, lack it",
        "install MCCL of the same SDK and put its folder into LD_LIBRARY_PATH",
        "#5, #102",
    ),
    Symptom(
        r"libsrv_um_MUSA\.so",
        "the container does not see the driver of the host",
        "start it with the vendor's container toolkit and --env MTHREADS_VISIBLE_DEVICES=all",
        "#118",
    ),
    Symptom(
        r"lib(musa|musart|mudnn|mupti|mublas|musparse|mufft)\S*: cannot open shared object",
        "a library of the MUSA SDK is missing or has another version than torch_musa was built for",
        _SKEW,
        "#56, #102",
    ),
    Symptom(
        r"Driver [Vv]ersion:?\s*N/A",
        "the driver is not loaded, or the container does not see it",
        "run mthreads-gmi on the host; install the driver that the SDK names",
        "#12, #13",
    ),
    Symptom(
        r"Failed to load the backend extension: torch_musa|No module named 'torch_musa\._",
        "`import torch` loads torch_musa by itself, and that failed: the package is broken or gone",
        "reinstall torch_musa, or set TORCH_DEVICE_BACKEND_AUTOLOAD=0 to train on another target",
        "flagos-ai/FlagGems#2497",
    ),
    Symptom(
        r"try running Python from a different directory",
        "a library of torch_musa could not be loaded; the folder is hardly ever the reason",
        "read the first ImportError above this one; " + _SKEW,
        "#9, #24, #36, #63, #102",
    ),
    Symptom(
        r"torch_musa requires|TORCH_MIN_VERSION|torch version .* (lower|less) than",
        "torch is older than this torch_musa needs",
        "install the torch wheel from the same torch_musa release page",
        "torch_musa/__init__.py of 2.7.1",
    ),
    Symptom(
        r"No module named 'torch_musa'",
        "torch_musa is not installed; it is not on PyPI",
        "install torch and torch_musa from github.com/MooreThreads/torch_musa/releases",
        "README",
    ),
    Symptom(
        r"module 'torch' has no attribute 'musa'",
        "torch_musa was not imported, or this machine has none",
        "import torch_musa right after torch, and ask `hasattr(torch, 'musa')` in shared code",
        "xdit-project/xDiT#541",
    ),
    Symptom(
        r"Cannot re-initialize MUSA in forked subprocess",
        "`import torch` has touched MUSA, so a forked child may not use it",
        "start processes with the spawn method",
        "torch_musa/csrc/core/Module.cpp of 2.7.1",
    ),
    Symptom(
        r"MUSA.*out of memory",
        "the card is full",
        "make the batch smaller, recompute blocks, or shard over more ranks",
        "#14, #16",
    ),
    Symptom(
        r"MUSA error: .*illegal memory access",
        "a kernel read outside its memory; a missing synchronisation is the usual suspect",
        "run with MUSA_LAUNCH_BLOCKING=1: it names the kernel, or makes the error go away",
        "#105",
    ),
    Symptom(
        r"MUSA error: unknown error",
        "kernels ran before the rank was bound to its card",
        "call torch.musa.set_device(LOCAL_RANK) before any other use of the device",
        "flagos-ai/vllm-plugin-FL#457",
    ),
    Symptom(
        r"torch_musa\.optim\.Fused",
        "torch's fused Adam does not exist on MUSA",
        "use foreach=True, or torch_musa.optim.FusedAdamW",
        "torch_musa/csrc/aten/ops/musa/FusedAdam.cpp of 2.7.1",
    ),
    Symptom(
        r"Unexpected ReduceOp",
        "MCCL knows SUM, AVG, MIN, MAX and PRODUCT only",
        "scale before or after a SUM instead of a pre-multiplied one",
        "torch_musa/csrc/distributed/ProcessGroupMCCL.cpp of 2.7.1",
    ),
    Symptom(
        r"(nll_loss|NLLLoss).*(Float|float32|dtype|support)",
        "the loss kernel of S4000 takes fp32 logits only",
        "convert the logits to fp32 before the loss",
        "torch_musa/csrc/aten/ops/Loss.cpp of 2.7.1",
    ),
    Symptom(
        r"graph\(\) got an unexpected keyword argument|musa_graph",
        "torch.musa.graph calls its first parameter musa_graph",
        "pass the graph without its name",
        "MooreThreads/torchada#8",
    ),
    Symptom(
        r"_device_count_nvml",
        "a package calls a private function of torch.cuda that MUSA does not have",
        "ask torch.musa.device_count() instead",
        "MooreThreads/torchada#4",
    ),
    Symptom(
        r"cannot pickle 'torch.*Generator'|Generator.*(not picklable|cannot be pickled)",
        "the wrapped Generator of torchada does not cross processes",
        "send the seed instead of the generator",
        "MooreThreads/torchada#50",
    ),
    Symptom(
        r"MUSA.*[Gg]raph.*(limit|too many|resource)|too many.*MUSA.*[Gg]raph",
        "a process may hold about 2048 captured graphs",
        "capture fewer shapes, or turn graphs off",
        "MooreThreads/torchada#72, sgl-project/sglang#27537",
    ),
    Symptom(
        r"Inplace update to inference tensor outside InferenceMode",
        "a captured graph changes a tensor that was made in inference mode",
        "make the tensors outside of inference_mode before the capture",
        "sgl-project/sglang-omni#2168",
    ),
    Symptom(
        r"MUSA error.*([Cc]aptur|[Gg]raph)",
        "graph capture is broken on S4000 with some SDK images",
        'compile with mode "default", which captures no graphs',
        "MooreThreads/vllm-musa#184",
    ),
    Symptom(
        r"Could not run 'aten::\S+' with arguments from the '(musa|PrivateUse1)' backend",
        "this torch_musa has no kernel for that operator",
        "use a newer torch_musa, or compute that value on the CPU",
        "#84",
    ),
    Symptom(
        r"(sum|[Rr]educe).*(uint8|Byte).*([Nn]ot support|[Uu]nsupported)"
        r"|[Uu]nsupported.*(uint8|Byte).*(sum|[Rr]educe)",
        "old releases cannot sum uint8",
        "convert to int32 or float before the sum",
        "#86",
    ),
    Symptom(
        r"\bReduce\b.*\b(Bool|PROD)\b|\b(Bool|PROD)\b.*\bReduce\b",
        "old releases cannot reduce bool by a product",
        "convert to int32 before .prod() or .all()",
        "#42",
    ),
    Symptom(
        r"[Ff]lash.*[Aa]ttention.*(mp_?2[01]|arch)",
        "flash attention needs an S4000 (mp_22) or newer",
        "use a shorter sequence: the math kernel stores all scores",
        "#42",
    ),
    Symptom(
        r"--?tf32.*(Ampere|CUDA)|tf32 requires",
        "a CUDA-only flag was given",
        "leave --tf32 away; torch.backends.mudnn.allow_tf32 is the switch up to 2.7.1",
        "huggingface/transformers#33187",
    ),
    Symptom(
        r"incompatible version of torchao|requires torchao",
        "the vendor's image carries an old torchao, which newer packages refuse",
        "install them in a virtual environment made with --system-site-packages",
        "modelscope/ms-swift docs/source_en/BestPractices/MUSA-support.md",
    ),
    Symptom(
        r"(?i)all_?to_?all.*(timeout|timed out)|(timeout|timed out).*all_?to_?all",
        "before 2.11.0.post1 an all-to-all between nodes hangs if one rank sends nothing",
        "send no empty parts, or use torch_musa 2.11.0.post1 or newer",
        "rel 2.11.0.post1",
    ),
)
