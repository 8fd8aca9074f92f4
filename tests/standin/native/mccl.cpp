// Collectives on musa tensors: the rules of ProcessGroupMCCL, carried out by gloo on the same
// bytes.
#include "mccl.h"

#include <ATen/ops/cat.h>

#include <string>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#include "standin.h"

namespace standin {
namespace {

using c10d::ReduceOp;
using Tensors = std::vector<at::Tensor>;
using TensorLists = std::vector<Tensors>;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

// --- rules -------------------------------------------------------------------------------------

bool is_supported(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
    case at::kFloat:
    case at::kHalf:
    case at::kBFloat16:
    case at::kLong:
    case at::kInt:
    case at::kChar:
    case at::kByte:
    case at::kBool:
      return true;
    case at::kFloat8_e4m3fn:
    case at::kFloat8_e5m2:
      return arch() >= 31;
    default:
      return false;
  }
}

void check_reduction(const ReduceOp& op, const at::Tensor& tensor) {
  switch (op) {
    case ReduceOp::SUM:
    case ReduceOp::MIN:
    case ReduceOp::MAX:
    case ReduceOp::PRODUCT:
      return;
    case ReduceOp::AVG:
      TORCH_CHECK_TYPE(tensor.scalar_type() != at::kBool,
                       "Cannot use ReduceOp.AVG with Boolean inputs");
      return;
    default:
      TORCH_CHECK(false, "Unexpected ReduceOp: MCCL reduces with SUM, AVG, MIN, MAX or PRODUCT");
  }
}

// The operator that gloo runs: AVG is a sum and a division after it; booleans are bytes of 0 and 1.
ReduceOp host_reduction(const ReduceOp& op, const at::Tensor& tensor) {
  const bool is_bool = tensor.scalar_type() == at::kBool;
  if (op == ReduceOp::SUM && is_bool) {
    return ReduceOp::MAX;
  }
  if (op == ReduceOp::PRODUCT && is_bool) {
    return ReduceOp::MIN;
  }
  return op == ReduceOp::AVG ? ReduceOp(ReduceOp::SUM) : op;
}

// A message size is counted in bytes where nothing is added up, so gloo need not know the dtype.
at::Tensor as_bytes(const at::Tensor& tensor) {
  const bool is_foreign =
      tensor.scalar_type() == at::kBool || at::isFloat8Type(tensor.scalar_type());
  return is_foreign ? tensor.view(at::kByte) : tensor;
}

// Work that was over before it was handed out.
class Done final : public c10d::Work {
 public:
  explicit Done(const Tensors& results)
      : results_(results),
        future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors())) {
    future_->markCompleted(c10::IValue(results));
  }

  bool isCompleted() override {
    return true;
  }
  bool isSuccess() const override {
    return true;
  }
  bool wait(std::chrono::milliseconds) override {
    return true;
  }
  Tensors result() override {
    return results_;
  }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    return future_;
  }

 private:
  Tensors results_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// --- the backend -------------------------------------------------------------------------------

class Mccl final : public c10d::Backend {
 public:
  explicit Mccl(c10::intrusive_ptr<c10d::Backend> host)
      : c10d::Backend(host->getRank(), host->getSize()), host_(std::move(host)) {}

  const std::string getBackendName() const override {
    return "mccl";
  }

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    Tensors host = bytes(tensors);
    return host_->broadcast(host, options);
  }

  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    Tensors host = bytes(tensors);
    auto host_options = with_reduction(options, tensors);
    return average(options.reduceOp, host, host_->allreduce(host, host_options));
  }

  WorkPtr allreduce_coalesced(Tensors& tensors,
                              const c10d::AllreduceCoalescedOptions& options) override {
    Tensors host = bytes(tensors);
    auto host_options = with_reduction(options, tensors);
    return average(options.reduceOp, host, host_->allreduce_coalesced(host, host_options));
  }

  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    Tensors host = bytes(tensors);
    auto host_options = with_reduction(options, tensors);
    return average(options.reduceOp, host, host_->reduce(host, host_options));
  }

  WorkPtr allgather(TensorLists& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& options) override {
    TensorLists host_outputs = bytes(outputs);
    Tensors host_inputs = bytes(inputs);
    return host_->allgather(host_outputs, host_inputs, options);
  }

  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& options) override {
    at::Tensor host_output = bytes(output);
    at::Tensor host_input = bytes(input);
    return host_->_allgather_base(host_output, host_input, options);
  }

  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& options) override {
    Tensors host_outputs = bytes(outputs);
    Tensors host_inputs = bytes(inputs);
    return host_->allgather_into_tensor_coalesced(host_outputs, host_inputs, options);
  }

  WorkPtr gather(TensorLists& outputs, Tensors& inputs,
                 const c10d::GatherOptions& options) override {
    TensorLists host_outputs = bytes(outputs);
    Tensors host_inputs = bytes(inputs);
    return host_->gather(host_outputs, host_inputs, options);
  }

  WorkPtr scatter(Tensors& outputs, TensorLists& inputs,
                  const c10d::ScatterOptions& options) override {
    Tensors host_outputs = bytes(outputs);
    TensorLists host_inputs = bytes(inputs);
    return host_->scatter(host_outputs, host_inputs, options);
  }

  WorkPtr reduce_scatter(Tensors& outputs, TensorLists& inputs,
                         const c10d::ReduceScatterOptions& options) override {
    Tensors host_outputs = bytes(outputs);
    TensorLists host_inputs = bytes(inputs);
    auto host_options = with_reduction(options, outputs);
    return average(options.reduceOp, host_outputs,
                   host_->reduce_scatter(host_outputs, host_inputs, host_options));
  }

  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override {
    at::Tensor host_output = bytes(output);
    at::Tensor host_input = bytes(input);
    auto host_options = with_reduction(options, {output});
    return average(options.reduceOp, {host_output},
                   host_->_reduce_scatter_base(host_output, host_input, host_options));
  }

  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& options) override {
    Tensors host_outputs = bytes(outputs);
    Tensors host_inputs = bytes(inputs);
    auto host_options = with_reduction(options, outputs);
    return average(options.reduceOp, host_outputs,
                   host_->reduce_scatter_tensor_coalesced(host_outputs, host_inputs, host_options));
  }

  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                        std::vector<int64_t>& input_splits,
                        const c10d::AllToAllOptions& options) override {
    at::Tensor host_output = bytes(output);
    at::Tensor host_input = bytes(input);
    return host_->alltoall_base(host_output, host_input, output_splits, input_splits, options);
  }

  // Gloo has only the single-tensor form: pack, exchange, unpack.
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs,
                   const c10d::AllToAllOptions& options) override {
    Tensors host_outputs = flat(bytes(outputs));
    Tensors host_inputs = flat(bytes(inputs));
    std::vector<int64_t> output_splits = sizes(host_outputs);
    std::vector<int64_t> input_splits = sizes(host_inputs);
    at::Tensor input = at::cat(host_inputs);
    at::Tensor output = at::cat(host_outputs);
    // Gloo takes the split sizes away.
    WorkPtr work = host_->alltoall_base(output, input, output_splits, input_splits, options);
    work->wait();
    const Tensors parts = output.split_with_sizes(sizes(host_outputs));
    for (size_t i = 0; i < parts.size(); ++i) {
      host_outputs[i].copy_(parts[i]);
    }
    return c10::make_intrusive<Done>(host_outputs);
  }

  WorkPtr send(Tensors& tensors, int to, int tag) override {
    Tensors host = bytes(tensors);
    return host_->send(host, to, tag);
  }

  WorkPtr recv(Tensors& tensors, int from, int tag) override {
    Tensors host = bytes(tensors);
    return host_->recv(host, from, tag);
  }

  WorkPtr barrier(const c10d::BarrierOptions& options) override {
    c10d::BarrierOptions host_options = options;
    host_options.device_ids.clear();
    host_options.device = std::nullopt;
    return host_->barrier(host_options);
  }

 private:
  // The bytes of a tensor that MCCL would take; throws for any other.
  at::Tensor bytes(const at::Tensor& tensor) const {
    TORCH_CHECK(tensor.device().type() == kMusa, "Tensors must be MUSA and dense, got ",
                tensor.device());
    TORCH_CHECK(tensor.is_contiguous(), "Tensors must be contiguous");
    TORCH_CHECK_TYPE(is_supported(tensor.scalar_type()), "Unconvertible MCCL type ",
                     tensor.scalar_type());
    const auto bound = getBoundDeviceId();
    TORCH_CHECK(!bound.has_value() || *bound == tensor.device(), "Tensor found on device ",
                tensor.device(), " but the process group is bound to ", *bound);
    return as_bytes(on_host(tensor));
  }

  Tensors bytes(const Tensors& tensors) const {
    Tensors host;
    host.reserve(tensors.size());
    for (const at::Tensor& tensor : tensors) {
      host.push_back(bytes(tensor));
    }
    return host;
  }

  TensorLists bytes(const TensorLists& lists) const {
    TensorLists host;
    host.reserve(lists.size());
    for (const Tensors& tensors : lists) {
      host.push_back(bytes(tensors));
    }
    return host;
  }

  template <typename Options>
  static Options with_reduction(const Options& options, const Tensors& tensors) {
    Options changed = options;
    for (const at::Tensor& tensor : tensors) {
      check_reduction(options.reduceOp, tensor);
      changed.reduceOp = host_reduction(options.reduceOp, tensor);
    }
    return changed;
  }

  // Divides the sums of an AVG, which therefore is done when the call returns. Gloo's own work must
  // not be waited for again: that of a reduce-scatter copies the sums once more.
  WorkPtr average(const ReduceOp& op, const Tensors& sums, WorkPtr work) const {
    if (op != ReduceOp::AVG) {
      return work;
    }
    work->wait();
    for (at::Tensor sum : sums) {
      if (at::isFloatingType(sum.scalar_type())) {
        sum.div_(getSize());
      } else {
        sum.div_(getSize(), "trunc");
      }
    }
    return c10::make_intrusive<Done>(sums);
  }

  static Tensors flat(Tensors tensors) {
    for (at::Tensor& tensor : tensors) {
      tensor = tensor.view({-1});
    }
    return tensors;
  }

  static std::vector<int64_t> sizes(const Tensors& tensors) {
    std::vector<int64_t> counts;
    counts.reserve(tensors.size());
    for (const at::Tensor& tensor : tensors) {
      counts.push_back(tensor.numel());
    }
    return counts;
  }

  c10::intrusive_ptr<c10d::Backend> host_;
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_mccl(c10::intrusive_ptr<c10d::Backend> host) {
  return c10::make_intrusive<Mccl>(std::move(host));
}

}  // namespace standin
