// The numbers of a model on a device: first values, constants, and copies to and from the host.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/api/backend.h"

namespace lathe {

// Draws all weights: normal(0, init_std) from a counter-based generator, so that a value depends only on the
// seed, the tensor's name and its index, never on the device or the layout; norms are one, vocabulary padding
// zero. Masters get the unrounded value, weights the rounded one; gradients and states are zero (as prepare()
// leaves them).
void initialise_weights(const StepProgram& program, Executable& executable, int64_t seed);

// Writes what stays the same for ever: RoPE's cosines and sines, angle = position · theta^(-2i/D).
void write_constants(const StepProgram& program, Executable& executable, double rope_theta);

// The buffers a checkpoint holds: weights, masters and optimizer states, as whole 1-D tensors, in program
// order.
std::vector<TensorId> saved_tensors(const StepProgram& program);

// Hands the bytes of a contiguous tensor to `sink` in pieces of at most 16 MiB, in order.
void read_pieces(const StepProgram& program, Executable& executable, TensorId tensor,
                 const std::function<void(std::span<const std::byte>)>& sink);

// Values of one parameter as FP32, from its master where there is one (exact), else from its weight.
std::vector<float> parameter_values(const StepProgram& program, Executable& executable,
                                    const Parameter& parameter);

// Sets one parameter from FP32 values: weight rounded, master exact. Throws InvalidArgument for a wrong
// count.
void set_parameter_values(const StepProgram& program, Executable& executable, const Parameter& parameter,
                          std::span<const float> values);

}  // namespace lathe
