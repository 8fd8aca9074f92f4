"""The stand-in for torch_musa: torch.musa with the public names of one version and no others.

torch.musa is this module, as in torch_musa. `SPECC_STANDIN_MUSA` chooses the version of the names,
"2.9.1.post1" or "2.7.1"; `TORCH_MUSA_ARCH` the card, 22 (S4000) or 31 (S5000).
"""

import sys as _sys

from torch_musa import _surface

_surface.install(_sys.modules[__name__])
