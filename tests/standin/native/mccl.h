// The "mccl" backend: the rules of MCCL, the transport of gloo.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace standin {

// A backend for musa tensors that moves their bytes with `host`, a backend for CPU tensors.
c10::intrusive_ptr<c10d::Backend> make_mccl(c10::intrusive_ptr<c10d::Backend> host);

}  // namespace standin
