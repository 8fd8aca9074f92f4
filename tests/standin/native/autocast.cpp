// torch.autocast("musa"): the lists of operators that torch keeps for any device.
#include <ATen/autocast_mode.h>

namespace standin {

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define STANDIN_LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
  AT_FORALL_LOWER_PRECISION_FP(STANDIN_LOWER_PRECISION)
#undef STANDIN_LOWER_PRECISION

#define STANDIN_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
  AT_FORALL_FP32(STANDIN_FP32)
#undef STANDIN_FP32

#define STANDIN_FP32_SET_OPT_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
  AT_FORALL_FP32_SET_OPT_DTYPE(STANDIN_FP32_SET_OPT_DTYPE)
#undef STANDIN_FP32_SET_OPT_DTYPE

#define STANDIN_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_PROMOTE(STANDIN_PROMOTE)
#undef STANDIN_PROMOTE
}

}  // namespace standin
