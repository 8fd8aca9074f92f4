"""Which torch_musa goes with which torch and MUSA SDK.

Sources are releases (`rel`), tags and issues (`#`) of github.com/MooreThreads/torch_musa unless
another repository is named; read until 2026-11. From 2.5.0 on the version of torch_musa is that of
its torch; only 2.7.0 was made for 2.7.1.
"""

from specc.targets.release import Release
from specc.targets.version import Range

RELEASES = (
    Release((1, 3, 0), (2, 2, 0), Range((3, 1), (3, 2)), "rel v1.3.0; #87"),
    Release((2, 0, 0), (2, 2, 0), source="rel v2.0.0; build.sh"),
    Release((2, 0, 1), (2, 2, 0), source="tag v2.0.1, build.sh"),
    Release((2, 1, 0), (2, 5, 0), Range((4, 2)), "rel v2.1.0; #24, #42"),
    Release((2, 1, 1), (2, 5, 0), Range((4, 2)), "rel v2.1.1"),
    Release((2, 5, 0), (2, 5, 0), Range((4, 2)), "rel v2.5.0"),
    Release((2, 7, 0), (2, 7, 1), source="tag v2.7.0, TORCH_MIN_VERSION"),
    # The S4000 runs on SDK 5.1 from 2.9.1 on (#138), so not with 2.7.1.
    Release((2, 7, 1), (2, 7, 1), Range((4, 3, 4), (5,)), "#135; 4.3.8: modelscope/ms-swift"),
    Release((2, 9, 0), (2, 9, 0), Range((4, 3, 2)), "rel v2.9.0"),
    Release((2, 9, 1), (2, 9, 1), Range((5, 1)), "rel v2.9.1; #138"),
    Release((2, 11, 0), (2, 11), Range((5, 1)), "rel 2.11.0.post1"),
)
