// What the parts of the stand-in share: a device named "musa" whose memory is host memory.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>

namespace standin {

constexpr c10::DeviceType kMusa = c10::DeviceType::PrivateUse1;
constexpr c10::DeviceIndex kDeviceCount = 8;  // the cards of one node

c10::DeviceIndex current_device();

// Throws "invalid device ordinal" outside [0, kDeviceCount), as the driver does.
void set_device(c10::DeviceIndex index);

// Live and largest bytes of one device, of all threads.
int64_t allocated_bytes(c10::DeviceIndex index);
int64_t peak_bytes(c10::DeviceIndex index);
void reset_peak_bytes(c10::DeviceIndex index);

// A CPU tensor over the same bytes, which it keeps alive. Other tensors come back as they are.
at::Tensor on_host(const at::Tensor& tensor);

// The generator of a device, and the CPU generator inside a musa generator.
const at::Generator& default_generator(c10::DeviceIndex index);
at::Generator host_generator(const at::Generator& generator);

// 22 for the S4000 or 31 for the S5000, from TORCH_MUSA_ARCH as torch_musa reads it.
int arch();

}  // namespace standin
