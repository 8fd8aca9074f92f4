// The device itself: allocator, device guard, random generators, and the hooks torch asks.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/Resize.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "standin.h"

namespace standin {
namespace {

thread_local c10::DeviceIndex this_device = 0;

// --- memory ------------------------------------------------------------------------------------

constexpr size_t kAlignment = 64;

struct MemoryUse {
  std::atomic<int64_t> live{0};
  std::atomic<int64_t> peak{0};

  void add(int64_t bytes) {
    const int64_t now = live += bytes;
    int64_t seen = peak;
    while (now > seen && !peak.compare_exchange_weak(seen, now)) {
    }
  }
};

std::array<MemoryUse, kDeviceCount>& memory_use() {
  static std::array<MemoryUse, kDeviceCount> use;
  return use;
}

struct Block {
  void* address;
  size_t bytes;
  c10::DeviceIndex device;
};

void free_block(void* context) {
  std::unique_ptr<Block> block(static_cast<Block*>(context));
  memory_use()[block->device].live -= static_cast<int64_t>(block->bytes);
  std::free(block->address);
}

struct HostAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device device(kMusa, this_device);
    if (bytes == 0) {
      return {nullptr, device};
    }
    const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    void* address = std::aligned_alloc(kAlignment, rounded);
    TORCH_CHECK_WITH(OutOfMemoryError, address != nullptr, "MUSA out of memory. Tried to allocate ",
                     bytes, " bytes");
    memory_use()[device.index()].add(static_cast<int64_t>(rounded));
    return {address, new Block{address, rounded, device.index()}, &free_block, device};
  }

  c10::DeleterFnPtr raw_deleter() const override {
    return nullptr;  // the context of a DataPtr is a Block, not the address
  }

  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};

HostAllocator allocator;
REGISTER_ALLOCATOR(kMusa, &allocator);

// --- devices and streams -----------------------------------------------------------------------

// Work is done when a call returns, so there is one stream and events have nothing to wait for.
struct DeviceGuard final : c10::impl::DeviceGuardImplInterface {
  static constexpr c10::DeviceType static_type = kMusa;

  DeviceGuard() = default;
  explicit DeviceGuard(c10::DeviceType) {}

  c10::DeviceType type() const override {
    return kMusa;
  }
  c10::Device getDevice() const override {
    return {kMusa, this_device};
  }
  void setDevice(c10::Device device) const override {
    if (device.has_index()) {
      set_device(device.index());
    }
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.has_index()) {
      this_device = device.index();
    }
  }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return kDeviceCount;
  }

  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return getStream(device);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return getStream(device);
  }
  c10::Stream getNewStream(c10::Device device, int) const override {
    return getStream(device);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return stream;
  }
  bool queryStream(const c10::Stream&) const override {
    return true;
  }
  void synchronizeStream(const c10::Stream&) const override {}
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}

  void record(void**, const c10::Stream&, const c10::DeviceIndex,
              const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override {
    return true;
  }
  void synchronizeEvent(void*) const override {}
  void destroyEvent(void*, const c10::DeviceIndex) const noexcept override {}
  // No synchronizeDevice: torch.accelerator.synchronize() raises on torch_musa, and here too.
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, DeviceGuard);

// --- random numbers ----------------------------------------------------------------------------

// A generator that says "musa" and draws with a CPU generator of its own.
struct MusaGenerator final : c10::GeneratorImpl {
  at::Generator host;

  MusaGenerator(c10::DeviceIndex index, at::Generator host_generator)
      : c10::GeneratorImpl({kMusa, index}, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        host(std::move(host_generator)) {}

  void set_current_seed(uint64_t seed) override {
    host.set_current_seed(seed);
  }
  void set_offset(uint64_t offset) override {
    host.set_offset(offset);
  }
  uint64_t get_offset() const override {
    return host.get_offset();
  }
  uint64_t current_seed() const override {
    return host.current_seed();
  }
  uint64_t seed() override {
    return host.seed();
  }
  void set_state(const c10::TensorImpl& state) override {
    host.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return host.unsafeGetGeneratorImpl()->get_state();
  }
  MusaGenerator* clone_impl() const override {
    return new MusaGenerator(device().index(), host.clone());
  }
};

at::Generator new_generator(c10::DeviceIndex index) {
  return at::make_generator<MusaGenerator>(index, at::detail::createCPUGenerator());
}

// --- what torch asks a device for --------------------------------------------------------------

struct Hooks final : at::PrivateUse1HooksInterface {
  bool hasPrimaryContext(c10::DeviceIndex) const override {
    return true;
  }
  bool isAvailable() const override {
    return true;
  }
  c10::DeviceIndex deviceCount() const override {
    return kDeviceCount;
  }
  c10::DeviceIndex getCurrentDevice() const override {
    return this_device;
  }
  void setCurrentDevice(c10::DeviceIndex index) const override {
    set_device(index);
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    const c10::DeviceIndex before = this_device;
    set_device(index);
    return before;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return index < 0 ? this_device : exchangeDevice(index);
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override {
    return default_generator(index);
  }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override {
    return new_generator(index < 0 ? this_device : index);
  }
  // All host memory is reachable: it is as good as pinned, and pinning changes nothing.
  c10::Allocator* getPinnedMemoryAllocator() const override {
    return c10::GetDefaultCPUAllocator();
  }
  bool isPinnedPtr(const void*) const override {
    return true;
  }
  // FSDP frees and refills the storage of its gathered parameters.
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    at::native::resize_bytes_cpu(storage.unsafeGetStorageImpl(), bytes);
  }
};

Hooks hooks;
const bool hooks_registered = (at::RegisterPrivateUse1HooksInterface(&hooks), true);

}  // namespace

c10::DeviceIndex current_device() {
  return this_device;
}

void set_device(c10::DeviceIndex index) {
  TORCH_CHECK(index >= 0 && index < kDeviceCount, "MUSA error: invalid device ordinal (",
              static_cast<int>(index), " of ", static_cast<int>(kDeviceCount), ")");
  this_device = index;
}

int64_t allocated_bytes(c10::DeviceIndex index) {
  return memory_use().at(index).live;
}

int64_t peak_bytes(c10::DeviceIndex index) {
  return memory_use().at(index).peak;
}

void reset_peak_bytes(c10::DeviceIndex index) {
  MemoryUse& use = memory_use().at(index);
  use.peak = use.live.load();
}

const at::Generator& default_generator(c10::DeviceIndex index) {
  static const std::vector<at::Generator> generators = [] {
    std::vector<at::Generator> made;
    for (c10::DeviceIndex i = 0; i < kDeviceCount; ++i) {
      made.push_back(new_generator(i));
    }
    return made;
  }();
  return generators.at(index < 0 ? this_device : index);
}

at::Generator host_generator(const at::Generator& generator) {
  TORCH_CHECK(generator.device().type() == kMusa,
              "Expected a 'musa' device type for generator but found '", generator.device().type(),
              "'");
  return static_cast<MusaGenerator*>(generator.unsafeGetGeneratorImpl())->host;
}

int arch() {
  static const int value = [] {
    const char* text = std::getenv("TORCH_MUSA_ARCH");
    return text == nullptr ? 22 : std::stoi(text);
  }();
  return value;
}

}  // namespace standin
