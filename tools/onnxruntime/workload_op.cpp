// SPDX-License-Identifier: MIT
// workload_op.cpp - com.clam::Workload, an op of ONNX Runtime: a folder of tools/import-onnx on
// OpenCL.
//
// Weights go to the device when the session is made, inputs and outputs once in each run.
#define ORT_API_MANUAL_INIT  // the runtime that loads this hands its functions over
#include <fmt/core.h>
#include <onnxruntime_cxx_api.h>

#include <filesystem>
#include <memory>
#include <mutex>

#include "check/device_graph.hpp"
#include "clam/error.hpp"

namespace clam::onnxruntime {
namespace {

/// What went wrong as a status: no exception leaves this library.
template <typename Action>
OrtStatusPtr status_of(Action&& action) noexcept {
  const auto failed = [](const char* why) { return Ort::GetApi().CreateStatus(ORT_FAIL, why); };
  try {
    action();
    return nullptr;
  } catch (const cl::Error& error) {
    return failed(fmt::format("OpenCL failed: {}", describe(error)).c_str());
  } catch (const std::exception& error) {
    return failed(error.what());
  } catch (...) {
    return failed("com.clam::Workload failed without a reason");
  }
}

/// Empty where the node has none of that name.
std::string attribute(const Ort::ConstKernelInfo& node, const char* name) {
  try {
    return node.GetAttribute<std::string>(name);
  } catch (const Ort::Exception&) {
    return "";
  }
}

Workload read_folder(const std::string& folder) {
  if (folder.empty()) throw BadArgument("a node com.clam::Workload needs the attribute folder");
  if (!std::filesystem::is_directory(folder)) {
    throw BadArgument(fmt::format(
        "{} is no folder, seen from {}: make it with tools/import-onnx, or start where it is",
        in_quotes(folder), std::filesystem::current_path().string()));
  }
  Workload workload = read_workload(folder);
  if (workload.model.unsupported() == 0) return workload;
  throw BadArgument(fmt::format("{}: {}; run the model that tools/import-onnx --replace writes",
                                folder, workload.model.unsupported_text()));
}

std::unique_ptr<Runtime> open(const std::string& device) {
  const cl::Device chosen = select_device(device).device;
  const cl::Context context(chosen);
  const cl::CommandQueue queue(context, chosen, CL_QUEUE_PROFILING_ENABLE);
  return std::make_unique<Runtime>(context, queue, RuntimeOptions::from_environment());
}

/// A node of a session.
class Kernel {
 public:
  explicit Kernel(const Ort::ConstKernelInfo& node)
      : folder_(attribute(node, "folder")),
        workload_(read_folder(folder_)),
        graph_(make_graph(workload_)),
        inputs_(workload_.model.inputs) {
    require_tensors(node);
    runtime_ = open(attribute(node, "device"));
    pass_ = std::make_unique<DeviceGraph>(*runtime_, graph_, GraphOptions{},
                                          DeviceGraph::Memory::shared);
    pass_->upload(graph_inputs(graph_, 0));
  }

  OrtStatusPtr ComputeV2(OrtKernelContext* context) noexcept {
    return status_of([&] {
      const std::lock_guard one_run(mutex_);
      run(Ort::KernelContext(context));
    });
  }

 private:
  void require_tensors(const Ort::ConstKernelInfo& node) const {
    bool right =
        node.GetInputCount() == inputs_.size() && node.GetOutputCount() == graph_.outputs.size();
    for (const std::string& name : inputs_) {
      const auto found = graph_.tensors.find(name);
      right = right && found != graph_.tensors.end() && found->second.is_input() &&
              found->second.dtype == Dtype::f32;
    }
    for (const std::string& name : graph_.outputs)
      right = right && graph_.tensors.at(name).dtype == Dtype::f32;
    if (right) return;
    throw BadArgument(fmt::format(
        "{} has not the {} inputs and {} outputs in f32 that its node has: write both again",
        folder_, node.GetInputCount(), node.GetOutputCount()));
  }

  void run(const Ort::KernelContext& context) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Shape shape = context.GetInput(i).GetTensorTypeAndShapeInfo().GetShape();
      const Shape& wanted = graph_.tensors.at(inputs_[i]).shape;
      if (shape == wanted) continue;
      throw BadArgument(
          fmt::format("input {} is {}, and {} was made for {}: make it again with --shape",
                      in_quotes(inputs_[i]), shape.empty() ? "a number" : to_string(shape), folder_,
                      to_string(wanted)));
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      pass_->write(inputs_[i], context.GetInput(i).GetTensorRawData());
    }
    pass_->run();
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const std::string& name = graph_.outputs[i];
      pass_->read(name,
                  context.GetOutput(i, graph_.tensors.at(name).shape).GetTensorMutableRawData());
    }
  }

  std::string folder_;
  Workload workload_;
  Graph graph_;
  const std::vector<std::string>& inputs_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<DeviceGraph> pass_;
  std::mutex mutex_;  ///< a session may be run by several threads, a Runtime may not
};

struct Op : Ort::CustomOpBase<Op, Kernel, true> {
  static constexpr auto kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  static constexpr auto kAnyNumber = INPUT_OUTPUT_VARIADIC;

  OrtStatusPtr CreateKernelV2(const OrtApi&, const OrtKernelInfo* node, void** kernel) const {
    return status_of([&] { *kernel = new Kernel(Ort::ConstKernelInfo(node)); });
  }
  const char* GetName() const { return "Workload"; }
  std::size_t GetInputTypeCount() const { return 1; }
  std::size_t GetOutputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetInputType(std::size_t) const { return kFloat; }
  ONNXTensorElementDataType GetOutputType(std::size_t) const { return kFloat; }
  OrtCustomOpInputOutputCharacteristic GetInputCharacteristic(std::size_t) const {
    return kAnyNumber;
  }
  OrtCustomOpInputOutputCharacteristic GetOutputCharacteristic(std::size_t) const {
    return kAnyNumber;
  }
};

}  // namespace
}  // namespace clam::onnxruntime

/// ONNX Runtime calls it for each SessionOptions that the library is given to.
extern "C" OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  using clam::onnxruntime::Op;
  const OrtApi* api = base->GetApi(ORT_API_VERSION);
  if (!api) {
    return base->GetApi(1)->CreateStatus(ORT_FAIL,
                                         "clam's library was built for a newer ONNX Runtime: "
                                         "update it, or build the library with its headers");
  }
  Ort::InitApi(api);
  return clam::onnxruntime::status_of([&] {
    // Sessions use it until the process ends.
    static const OrtCustomOpDomain* const domain = [] {
      Ort::CustomOpDomain made("com.clam");
      made.Add(new Op);
      return made.release();
    }();
    Ort::ThrowOnError(
        Ort::GetApi().AddCustomOpDomain(options, const_cast<OrtCustomOpDomain*>(domain)));
  });
}
