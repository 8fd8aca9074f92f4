"""Names that a part cannot have, because a part is an attribute of an `nn.Module`."""

from __future__ import annotations

import keyword

# Public attributes of torch.nn.Module; tests compare them with the installed torch.
MODULE_ATTRIBUTES = frozenset(
    [
        "T_destination",
        "add_module",
        "apply",
        "bfloat16",
        "buffers",
        "call_super_init",
        "children",
        "compile",
        "cpu",
        "cuda",
        "double",
        "dump_patches",
        "eval",
        "extra_repr",
        "float",
        "forward",
        "get_buffer",
        "get_extra_state",
        "get_parameter",
        "get_submodule",
        "half",
        "ipu",
        "load_state_dict",
        "modules",
        "mtia",
        "named_buffers",
        "named_children",
        "named_modules",
        "named_parameters",
        "parameters",
        "register_backward_hook",
        "register_buffer",
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_full_backward_pre_hook",
        "register_load_state_dict_post_hook",
        "register_load_state_dict_pre_hook",
        "register_module",
        "register_parameter",
        "register_state_dict_post_hook",
        "register_state_dict_pre_hook",
        "requires_grad_",
        "set_extra_state",
        "set_submodule",
        "share_memory",
        "state_dict",
        "to",
        "to_empty",
        "train",
        "training",
        "type",
        "xpu",
        "zero_grad",
        "musa",
    ]
)


def why_not_a_part(name: str) -> str | None:
    """Why a part cannot be called `name`, or None if it can."""
    if keyword.iskeyword(name):
        return f"`{name}` is a word of Python, and part names are state-dict names"
    if name in MODULE_ATTRIBUTES:
        return f"every torch module has an attribute `{name}`, and part names are state-dict names"
    if name.startswith("_"):
        return "part names are state-dict names and start with a letter"
    return None
