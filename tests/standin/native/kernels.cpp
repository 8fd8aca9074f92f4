// The kernels of the device: storage and views are native, all else runs on copies in CPU tensors,
// and what the muDNN kernels refuse is refused here too.
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "standin.h"

namespace standin {

at::Tensor on_host(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device().type() != kMusa) {
    return tensor;
  }
  return at::from_blob(
      tensor.storage().mutable_data(), tensor.sizes(), tensor.strides(), tensor.storage_offset(),
      [kept = at::Tensor(tensor)](void*) mutable { kept.reset(); },
      tensor.options().device(at::kCPU).requires_grad(false), at::Device(at::kCPU));
}

namespace {

using torch::jit::Stack;

// --- storage and copies ------------------------------------------------------------------------

c10::Allocator* musa_allocator() {
  return c10::GetAllocator(kMusa);
}

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_generic(size, musa_allocator(), kKeys, c10::dtype_or_default(dtype),
                                   format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                         std::optional<at::Device> device, std::optional<bool>) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_strided_generic(size, stride, musa_allocator(), kKeys,
                                           c10::dtype_or_default(dtype));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  on_host(to).copy_(on_host(from));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  at::native::resize_(to, from.sizes());
  return copy_from(from, to, false);
}

at::Scalar local_scalar(const at::Tensor& tensor) {
  return at::native::_local_scalar_dense_cpu(on_host(tensor));
}

void record_stream(at::Tensor&, c10::Stream) {}  // nothing runs after its call returned

// --- everything else ---------------------------------------------------------------------------

// Operators that take index tensors from the host, on every device.
bool takes_host_tensors(const std::string& name) {
  static const std::unordered_set<std::string> names{"aten::index", "aten::_unsafe_index",
                                                     "aten::index_put_", "aten::_index_put_impl_"};
  return names.count(name) != 0;
}

void check_same_device(const at::Tensor& tensor, std::optional<at::Device>& common) {
  // A 0-dim CPU tensor stands for a number.
  if (!tensor.defined() || (tensor.dim() == 0 && tensor.is_cpu())) {
    return;
  }
  if (!common.has_value()) {
    common = tensor.device();
  }
  TORCH_CHECK(tensor.device() == *common,
              "Expected all tensors to be on the same device, but found at least two devices, ",
              *common, " and ", tensor.device(), "!");
}

// The CPU fallback would copy a forgotten CPU tensor along; a kernel on a card cannot.
void check_same_device(const c10::OperatorHandle& op, const Stack& stack) {
  if (takes_host_tensors(op.schema().name())) {
    return;
  }
  std::optional<at::Device> common;
  for (const auto& value : torch::jit::last(stack, op.schema().arguments().size())) {
    if (value.isTensor()) {
      check_same_device(value.toTensor(), common);
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) {
        check_same_device(tensor, common);
      }
    }
  }
}

// CPU kernels draw from CPU generators: hand them the one that belongs to the device.
void use_host_generators(const c10::OperatorHandle& op, Stack& stack) {
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* type = arguments[i].type()->castRaw<c10::OptionalType>();
    if (type == nullptr || type->getElementType()->kind() != c10::TypeKind::GeneratorType) {
      continue;
    }
    c10::IValue& value = torch::jit::peek(stack, i, arguments.size());
    value =
        host_generator(value.isNone() ? default_generator(current_device()) : value.toGenerator());
  }
}

void run_on_host(const c10::OperatorHandle& op, Stack* stack) {
  check_same_device(op, *stack);
  use_host_generators(op, *stack);
  // A view of a copy would silently lose its writes.
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

// --- what torch_musa refuses -------------------------------------------------------------------

void refuse_fused_adam(const c10::OperatorHandle& op, Stack*) {
  const bool decoupled = op.schema().name().find("adamw") != std::string::npos;
  TORCH_CHECK(false, op.schema().name(), " is not implemented on MUSA, try torch_musa.optim.Fused",
              decoupled ? "AdamW" : "Adam");
}

// muDNN's NLL loss takes fp32 only; an S5000 sends 2-D logits of any dtype to a fused loss.
void nll_loss(const c10::OperatorHandle& op, Stack* stack) {
  const std::string& name = op.schema().name();
  const size_t logits_at = name.find("backward") == std::string::npos ? 0 : 1;
  const at::Tensor& logits =
      torch::jit::peek(*stack, logits_at, op.schema().arguments().size()).toTensor();
  const bool is_fused = arch() >= 31 && logits.dim() == 2;
  TORCH_CHECK(logits.scalar_type() == at::kFloat || is_fused, name,
              " on MUSA supports Float32 only, got ", logits.scalar_type());
  run_on_host(op, stack);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("_local_scalar_dense", local_scalar);
  library.impl("record_stream", record_stream);

  // torch's own functions for host memory: they ask the storage, not the device.
  library.impl("resize_", at::native::resize_);
  library.impl("set_.source_Tensor", at::native::set_tensor_);
  library.impl("set_.source_Storage",
               static_cast<at::Tensor& (*)(at::Tensor&, at::Storage)>(at::native::set_));
  library.impl("set_.source_Storage_storage_offset", at::native::set_storage_cpu_);
  library.impl("alias", at::native::alias);
  library.impl("as_strided", at::native::as_strided_tensorimpl);
  library.impl("view", at::native::view);
  library.impl("_reshape_alias", at::native::_reshape_alias);
  library.impl("unfold", at::native::unfold);
  library.impl("view_as_real", at::native::view_as_real);
  library.impl("view_as_complex", at::native::view_as_complex);

  for (const char* name :
       {"_fused_adam_", "_fused_adam_.tensor_lr", "_fused_adamw_", "_fused_adamw_.tensor_lr"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&refuse_fused_adam>());
  }
  for (const char* name :
       {"nll_loss_forward", "nll_loss_backward", "nll_loss2d_forward", "nll_loss2d_backward"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&nll_loss>());
  }
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
}

// Older versions of torch leave it to the extension: operators without a formula pass autograd by.
TORCH_LIBRARY_IMPL(_, AutogradPrivateUse1, library) {
  if (!c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(
          c10::DispatchKey::AutogradPrivateUse1)) {
    library.fallback(torch::CppFunction::makeFallthrough());
  }
}

}  // namespace standin
