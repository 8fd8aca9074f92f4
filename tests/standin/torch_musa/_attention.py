"""Scaled dot-product attention as torch_musa has it: its own flash operator, or the formula."""

from typing import Any

import torch

from torch_musa._backing import IS_FAKE, backing

FLASH = "_scaled_dot_product_attention_flash_musa"
FLASH_SCHEMA = (
    f"{FLASH}(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0,"
    " bool is_causal=False, *, float? scale=None) -> (Tensor, Tensor, Tensor)"
)
BACKWARD_SCHEMA = (
    f"{FLASH}_backward(Tensor grad_output, Tensor query, Tensor key, Tensor value, Tensor output,"
    " Tensor logsumexp, bool is_causal=False, *, float? scale=None) -> (Tensor, Tensor, Tensor)"
)
HEAD_DIM_LIMIT = 128

# A registration lasts as long as its Library.
library = torch.library.Library("aten", "FRAGMENT")


def register() -> None:
    """Defines the flash operator, which recomputation may name, and routes to it."""
    library.define(FLASH_SCHEMA)
    library.define(BACKWARD_SCHEMA)
    library.impl(FLASH, flash_shapes, "Meta")
    library.impl(f"{FLASH}_backward", flash_backward_shapes, "Meta")
    if not IS_FAKE:
        library.impl(FLASH, flash, "PrivateUse1")
        library.impl(f"{FLASH}_backward", flash_backward, "PrivateUse1")
    torch.library.register_autograd(
        f"aten::{FLASH}", differentiate, setup_context=save_for_backward, lib=library
    )
    for key in ("PrivateUse1", "AutogradPrivateUse1"):
        library.impl("scaled_dot_product_attention", attend, key)


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """F.scaled_dot_product_attention on musa tensors.

    Raises:
        RuntimeError: for a mask together with is_causal, and for unequal heads without enable_gqa.
    """
    if attn_mask is not None and is_causal:
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
    if query.shape[-3] != key.shape[-3] and query.dim() > 3 and not enable_gqa:
        raise RuntimeError(f"{query.shape[-3]} query heads, {key.shape[-3]} key heads: enable_gqa")
    if attn_mask is None and dropout_p == 0 and takes_flash(query, key, value):
        out, _, _ = torch.ops.aten._scaled_dot_product_attention_flash_musa(
            query, key, value, None, dropout_p, is_causal, scale=scale
        )
        return out
    out, _ = torch.ops.aten._scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )
    return out


def takes_flash(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether the flash kernel takes them: 4-D, fp16 or bf16, one head size of at most 128."""
    head_dims = {query.shape[-1], key.shape[-1], value.shape[-1]}
    return (
        query.dim() == key.dim() == value.dim() == 4
        and query.dtype in (torch.float16, torch.bfloat16)
        and len(head_dims) == 1
        and max(head_dims) <= HEAD_DIM_LIMIT
    )


def flash(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Output, log-sum-exp and an empty dropout mask, computed by the host's flash kernel."""
    if attn_mask is not None or dropout_p != 0:
        raise NotImplementedError(f"the stand-in's {FLASH} takes no mask and no dropout")
    groups = query.shape[1] // key.shape[1]
    out, logsumexp = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        backing.on_host(query),
        backing.on_host(key).repeat_interleave(groups, 1),
        backing.on_host(value).repeat_interleave(groups, 1),
        0.0,
        is_causal,
        scale=scale,
    )
    device = query.device
    return out.to(device), logsumexp.to(device), torch.empty(0, dtype=torch.bool, device=device)


def flash_backward(
    grad_output: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    output: torch.Tensor,
    logsumexp: torch.Tensor,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradients of query, key and value; those of shared heads are summed over their group."""
    kv_heads = key.shape[1]
    groups = query.shape[1] // kv_heads
    grads = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
        backing.on_host(grad_output),
        backing.on_host(query),
        backing.on_host(key).repeat_interleave(groups, 1),
        backing.on_host(value).repeat_interleave(groups, 1),
        backing.on_host(output),
        backing.on_host(logsumexp),
        0.0,
        is_causal,
        scale=scale,
    )
    query_grad, *shared = (grad.to(query.device) for grad in grads)
    key_grad, value_grad = (grad.unflatten(1, (kv_heads, groups)).sum(2) for grad in shared)
    return query_grad, key_grad, value_grad


def flash_shapes(
    query: torch.Tensor, *_tensors: Any, **_keywords: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    logsumexp = query.new_empty(query.shape[:-1], dtype=torch.float32)
    return torch.empty_like(query), logsumexp, query.new_empty(0, dtype=torch.bool)


def flash_backward_shapes(
    _grad_output: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *_: Any,
    **__: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)


def save_for_backward(
    ctx: Any,
    inputs: tuple[Any, ...],
    keyword_only_inputs: dict[str, Any],
    output: tuple[torch.Tensor, ...],
) -> None:
    query, key, value, _attn_mask, _dropout_p, ctx.is_causal = inputs
    ctx.scale = keyword_only_inputs["scale"]
    ctx.save_for_backward(query, key, value, *output[:2])


def differentiate(
    ctx: Any, grad_output: torch.Tensor, _grad_logsumexp: Any, _grad_mask: Any
) -> tuple[torch.Tensor | None, ...]:
    grads = torch.ops.aten._scaled_dot_product_attention_flash_musa_backward(
        grad_output, *ctx.saved_tensors, ctx.is_causal, scale=ctx.scale
    )
    return (*grads, None, None, None)
