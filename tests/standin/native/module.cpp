// The Python face of the stand-in: the functions that torch_musa/ builds torch.musa from.
#include <torch/csrc/utils/pybind.h>

#include "mccl.h"
#include "standin.h"

namespace py = pybind11;

PYBIND11_MODULE(musa_standin, module) {
  module.def("current_device", [] { return static_cast<int>(standin::current_device()); });
  module.def("set_device",
             [](int index) { standin::set_device(static_cast<c10::DeviceIndex>(index)); });
  module.def("allocated_bytes", [](int index) { return standin::allocated_bytes(index); });
  module.def("peak_bytes", [](int index) { return standin::peak_bytes(index); });
  module.def("reset_peak_bytes", [](int index) { standin::reset_peak_bytes(index); });
  module.def("default_generator", [](int index) { return standin::default_generator(index); });
  module.def("on_host", &standin::on_host);
  module.def("make_mccl", &standin::make_mccl);
}
