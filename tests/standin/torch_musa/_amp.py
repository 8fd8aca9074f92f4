"""torch.musa.amp: autocast (float16 by default, as torch_musa's) and the gradient scaler."""

import functools
from typing import Any

import torch


class autocast(torch.amp.autocast_mode.autocast):  # noqa: N801  its name in torch.musa.amp
    """torch.autocast("musa")."""

    def __init__(
        self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True
    ) -> None:
        super().__init__("musa", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """torch.amp.GradScaler("musa")."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__("musa", **keywords)


PUBLIC = {
    "autocast": autocast,
    "GradScaler": GradScaler,
    "custom_fwd": functools.partial(torch.amp.custom_fwd, device_type="musa"),
    "custom_bwd": functools.partial(torch.amp.custom_bwd, device_type="musa"),
}
