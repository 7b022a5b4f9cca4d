// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What devices compute: the argument struct of each validated operation, and the variant of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "gpukern/explain.h"
#include "src/core/index.hpp"
#include "src/core/index_record.hpp"
#include "src/core/loop.hpp"

namespace gpukern {

struct IndexArgs {
  const std::byte* index = nullptr;
  Loop<1> loop;  ///< coalesced, C order
  std::int64_t n = 0;
  IndexType index_type;
  bool are_offsets = false;  ///< of bags of n items, see is_offset()
  bool check_order = false;  ///< whether it is of use to know that they are sorted
};

/// An index for each of several axes, all of the same number of positions.
struct IndexTuple {
  struct OfAxis {
    IndexArgs index;
    std::int64_t step;  ///< bytes of the source from one position on the axis to the next
  };
  std::vector<OfAxis> axes;
  const std::byte* base = nullptr;  ///< position p is at base + 8 * p, where nothing is read
};

/// The operands of GatherArgs::loop.
enum GatherOperand { kSource, kIndex, kOut, kFillValue };

/// out[p] = source[p, its axis coordinate replaced by index[p]] for every position p of the loop.
/// In a dimension with a nonzero stride of the index, the stride of the fill value is 0.
struct GatherArgs {
  const std::byte* source = nullptr;
  const std::byte* index = nullptr;
  std::byte* out = nullptr;
  std::int64_t item = 0;  ///< bytes that each position moves: an element or a contiguous row
  Loop<4> loop;           ///< coalesced; see GatherOperand
  Loop<1> axis;           ///< unravels a position on the axis into an offset of the source
  std::int64_t n = 0;     ///< length of the axis, positive
  IndexType index_type;
  const IndexTuple* tuple = nullptr;  ///< in place of the index: Device::takes_tuple()
  gpukern_index_mode mode = GPUKERN_INDEX_RAISE;
  gpukern_gather_path path = GPUKERN_GATHER_AUTO;
  bool out_may_change = true;             ///< if an index is bad, see Device::gather_checked()
  bool in_place = false;                  ///< a GPU reads a source in host memory
  std::uint64_t* bad = nullptr;           ///< used by the CUDA device only
  const std::byte* fill_value = nullptr;  ///< host memory, read before the call returns
  std::int64_t fill_size = 0;             ///< bytes of it; position p uses the period below at
  std::int64_t fill_period = 0;           ///< its offset, repeated to fill the item

  /// Whether both the source and the index have a nonzero stride in the innermost dimension.
  [[nodiscard]] bool moves_both() const {
    const int d = loop.ndim - 1;
    return d >= 0 && loop.stride[kSource][d] != 0 && loop.stride[kIndex][d] != 0;
  }
};

struct IndexCheck {
  std::optional<BadIndex> bad;
  bool sorted = false;  ///< known to be: the positions on the axis never fall, in C order
};

/// Records the first bad index, unless the record has an earlier one.
struct RecordIndexArgs {
  IndexArgs index;  ///< not offsets
  IndexOrigin origin;
  IndexRecord* record = nullptr;
};

/// Indices of consecutive axes, combined as by numpy.ravel_multi_index. Each n is positive.
/// positions[p] is kNoPosition where mode "fill" leaves out one of the indices of p.
struct RavelArgs {
  std::span<const IndexArgs> indices;
  gpukern_index_mode mode = GPUKERN_INDEX_RAISE;
  std::int64_t* positions = nullptr;  ///< contiguous
};

/// out[p] = a * x[p] + y[p]; the operands of loop are x, y, out.
struct SaxpyArgs {
  gpukern_dtype dtype{};
  alignas(16) std::byte a[16]{};
  const std::byte* x = nullptr;
  const std::byte* y = nullptr;
  std::byte* out = nullptr;  ///< x, y, or memory that overlaps neither
  std::int64_t item = 0;
  Loop<3> loop;

  [[nodiscard]] bool contiguous() const {
    return loop.contiguous(0, item) && loop.contiguous(1, item) && loop.contiguous(2, item);
  }
};

/// Contiguous arrays of a list, at least one element of each.
struct SaxpyEntry {
  const std::byte* x;
  const std::byte* y;
  std::byte* out;  ///< x, y, or memory that overlaps neither
  std::int64_t count;
};

/// out[p] = a * x[p] + y[p] in each entry. No entry accesses what another one writes.
struct SaxpyManyArgs {
  gpukern_dtype dtype{};
  alignas(16) std::byte a[16]{};
  std::int64_t item = 0;
  std::span<const SaxpyEntry> entries;
  std::int64_t count = 0;  ///< of elements, in all entries
};

/// The types of axpby.
enum class RealType : std::int8_t { Float16, BFloat16, Float32, Float64 };
constexpr std::int64_t size_of(RealType type) {
  return type == RealType::Float64 ? 8 : type == RealType::Float32 ? 4 : 2;
}

/// The operands of AxpbyArgs::loop, kPosition counts elements of the output in C order, not
/// bytes.
enum AxpbyOperand { kFactorOfX, kX, kFactorOfY, kY, kResult, kPosition };

/// result[p] = a[p] * x[p] + b[p] * y[p], in float64 if an operand has that type, else in float32.
struct AxpbyArgs {
  struct Operand {
    std::byte* data = nullptr;
    double value = 0;  ///< in place of all elements, unless they are in memory
    bool in_memory = false;
    RealType type = RealType::Float32;
  };
  std::array<Operand, 5> operand;  ///< the result is one of the inputs, or overlaps none
  Loop<6> loop;                    ///< coalesced
  bool stochastic = false;         ///< rounds float32 to bfloat16 by random_block()
  std::uint64_t seed = 0;
  std::int64_t first = 0;  ///< the position in the output of the first element of the loop

  [[nodiscard]] bool is_wide() const {
    return std::ranges::any_of(operand,
                               [](const Operand& o) { return o.type == RealType::Float64; });
  }
  [[nodiscard]] bool contiguous() const {
    for (int k = kFactorOfX; k <= kResult; ++k) {
      const Operand& of = operand[static_cast<std::size_t>(k)];
      if (of.in_memory && !loop.contiguous(k, size_of(of.type))) return false;
    }
    return true;
  }
};

/// The operands of ScatterArgs::updates; kKey counts elements of ScatterArgs::keys, not bytes.
enum UpdateOperand { kUpdateIndex, kUpdateValue, kKey };
/// The operands of ScatterArgs::columns.
enum ColumnOperand { kTargetColumn, kValueColumn };

/// For every update u in order and every column c: combines target[key, c] with values[u, c], where
/// key is the index of u, resolved, times key_step, plus the key offset of u. The target overlaps
/// neither the index nor the values.
struct ScatterArgs {
  std::byte* target = nullptr;
  const std::byte* index = nullptr;
  const std::byte* values = nullptr;
  gpukern_dtype dtype{};
  std::int64_t item = 0;  ///< bytes of a column: an element; without a reduction also a row
  Loop<3> updates;        ///< coalesced, C order; see UpdateOperand
  Loop<2> columns;        ///< coalesced; see ColumnOperand
  Loop<1> keys;           ///< unravels a key into an offset of the target
  std::int64_t n = 0;     ///< length of the axis, positive
  std::int64_t key_step = 1;
  IndexType index_type;
  gpukern_index_mode mode = GPUKERN_INDEX_RAISE;
  gpukern_reduce reduce = GPUKERN_REDUCE_NONE;
  bool any_order = false;
  bool unique = false;  ///< no two updates have the same key
  bool sorted = false;  ///< the keys of the updates did not fall when the indices were checked

  [[nodiscard]] std::int64_t row_bytes() const { return columns.count() * item; }
};

/// The operands of GatherReduceArgs::columns.
enum BagColumnOperand { kOutColumn, kSourceColumn };

/// For every bag b and column c: out[b, c] is the reduction of source[i, c] over the items i of the
/// bag, see src/core/reduce.hpp. The output overlaps no input.
struct GatherReduceArgs {
  const std::byte* source = nullptr;
  const std::byte* index = nullptr;  ///< nullptr: item i is at position i of the axis
  const std::byte* offsets = nullptr;
  const std::byte* weights = nullptr;  ///< nullptr for none
  std::byte* out = nullptr;
  gpukern_dtype dtype{};
  std::int64_t item = 0;   ///< bytes of an element
  std::int64_t bags = 0;   ///< one less than there are offsets
  std::int64_t count = 0;  ///< items: the length of the index, or of the axis
  // From one element to the next, in bytes.
  std::int64_t index_step = 0;
  std::int64_t offset_step = 0;
  std::int64_t weight_step = 0;
  std::int64_t out_step = 0;
  Loop<2> columns;     ///< coalesced; see BagColumnOperand
  Loop<1> axis;        ///< unravels a position on the axis into an offset of the source
  std::int64_t n = 0;  ///< length of the axis, positive unless `count` is 0
  IndexType index_type;
  IndexType offset_type;
  gpukern_index_mode mode = GPUKERN_INDEX_RAISE;
  gpukern_reduce reduce = GPUKERN_REDUCE_ADD;
};

/// For the k-th nonzero element of a mask in C order, k < size, at position p: writes source[p], or
/// the coordinates of p, to the output at k * step; and the fill value to the rest of the output,
/// which overlaps no input.
struct SelectArgs {
  const std::byte* mask = nullptr;
  Loop<1> loop;            ///< of the mask: coalesced, C order
  std::int64_t item = 1;   ///< bytes of an element of the mask: 1, 2, 4, 8 or 16
  std::uint64_t bits = 0;  ///< an element without any of these bits in its words of 8 bytes is zero
  const std::byte* source = nullptr;  ///< nullptr to write coordinates
  Loop<1> items;  ///< where the source has the item of each element: coalesced, C order
  /// The extents of the mask, one or more; the strides are where the output has a coordinate.
  Loop<1> coordinates;
  std::int64_t first = 0;  ///< the position of the first element of `loop` in these extents
  std::byte* out = nullptr;
  std::int64_t width = 8;  ///< bytes of an item: 1, 2, 4, 8 or 16, to which all of source and out
  std::int64_t step = 0;   ///< are aligned; or 8, those of a coordinate
  std::int64_t size = 0;
  alignas(16) std::byte fill[16]{};
};

/// The operands of loop are source, destination; they do not overlap. The dimensions are in the
/// order of the destination's memory.
struct CopyArgs {
  const std::byte* source = nullptr;
  std::byte* destination = nullptr;
  std::int64_t item = 0;
  Loop<2> loop;
};

/// The number of bytes that an operation moves. An item is counted once for each index that refers
/// to it.
struct Traffic {
  std::int64_t read = 0;       ///< from the device's memory
  std::int64_t written = 0;    ///< to the device's memory
  std::int64_t from_host = 0;  ///< read in place from host memory
};

/// A number of bytes that is only reported: limited, so that several can be added.
std::int64_t reported(long double bytes);

/// Adds to a number of bytes that is only reported. Of too many to count it becomes the largest.
void add_reported(std::int64_t& total, std::int64_t bytes);

Traffic traffic_of(const GatherArgs& args);
Traffic traffic_of(const SaxpyArgs& args);
Traffic traffic_of(const SaxpyManyArgs& args);
/// Elements that are repeated count once.
Traffic traffic_of(const AxpbyArgs& args);
Traffic traffic_of(const CopyArgs& args);
Traffic traffic_of(const ScatterArgs& args);
/// As if each item were in one bag: the offsets are not read.
Traffic traffic_of(const GatherReduceArgs& args);
Traffic traffic_of(const RavelArgs& args);
Traffic traffic_of(const RecordIndexArgs& args);
/// As if no element were zero.
Traffic traffic_of(const SelectArgs& args);
/// The number of bytes of the indices, each counted once.
std::int64_t index_bytes(const IndexArgs& args);

/// How a device runs an operation.
struct Strategy {
  gpukern_compute_path path = GPUKERN_PATH_NONE;
  int threads = 0;  ///< of the CPU, at most
};

/// One of the argument structs, by reference: it must outlive the operation.
class Operation {
 public:
  using Args =
      std::variant<const GatherArgs*, const SaxpyArgs*, const SaxpyManyArgs*, const AxpbyArgs*,
                   const CopyArgs*, const ScatterArgs*, const GatherReduceArgs*, const RavelArgs*,
                   const RecordIndexArgs*, const SelectArgs*>;

  template <class OneArgs>
  Operation(const OneArgs& args) : args_(&args) {}  // NOLINT(*-explicit-constructor)

  /// Calls visit(args) with the argument struct.
  template <class Visit>
  decltype(auto) visit(const Visit& visit) const {
    return std::visit([&](const auto* args) -> decltype(auto) { return visit(*args); }, args_);
  }

  [[nodiscard]] Traffic traffic() const {
    return visit([](const auto& args) { return traffic_of(args); });
  }

 private:
  Args args_;
};

/// Combines several lambdas into one visitor.
template <class... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};

}  // namespace gpukern
