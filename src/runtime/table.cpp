// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "gpukern/table.h"

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/core/error.hpp"
#include "src/runtime/attempt.hpp"
#include "src/runtime/device.hpp"
#include "src/runtime/virtual_memory.hpp"

using gpukern::attempt;
using gpukern::guard;
using gpukern::kTablePage;
using gpukern::require;
using gpukern::require_struct_size;
using gpukern::VirtualMemory;

namespace {

constexpr std::int64_t kElsewhere = -1;
constexpr std::size_t kFirstSize = sizeof(gpukern_table_desc);

/// The number of pages that hold this number of bytes; pages are counted, since bytes may overflow.
constexpr std::int64_t pages_of(std::int64_t bytes) {
  constexpr auto kPage = static_cast<std::int64_t>(kTablePage);
  return bytes / kPage + (bytes % kPage != 0 ? 1 : 0);
}

/// Memory of a device, released at the end of the scope. A mapping holds the memory, too.
class Allocated {
 public:
  Allocated() = default;
  Allocated(VirtualMemory& memory, VirtualMemory::Allocation allocation)
      : memory_(&memory), allocation_(allocation) {}
  Allocated(Allocated&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), allocation_(other.allocation_) {}
  Allocated& operator=(Allocated&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(allocation_, other.allocation_);
    return *this;
  }
  ~Allocated() {
    if (memory_ != nullptr) attempt([&] { memory_->release(allocation_); });
  }
  [[nodiscard]] bool any() const { return memory_ != nullptr; }
  [[nodiscard]] VirtualMemory::Allocation get() const { return allocation_; }

 private:
  VirtualMemory* memory_ = nullptr;
  VirtualMemory::Allocation allocation_ = 0;
};

std::span<const std::int32_t> checked_devices(const gpukern_table_desc& desc) {
  require(desc.device_count > 0, GPUKERN_VALUE_ERROR,
          "table_create: device_count must be at least 1, got ", desc.device_count);
  require(desc.devices != nullptr, GPUKERN_VALUE_ERROR, "table_create: devices must not be NULL");
  return {desc.devices, static_cast<std::size_t>(desc.device_count)};
}

}  // namespace

struct gpukern_table {
 public:
  explicit gpukern_table(const gpukern_table_desc& desc)
      : memory_(gpukern::virtual_memory()), exported_(desc.exported != 0) {
    const auto devices = checked_devices(desc);
    devices_.assign(devices.begin(), devices.end());
    for (const int device : devices_) gpukern::device_for({true, device});
    lay_out(desc);
    if (bytes_ == 0) return;
    range_ = memory_.reserve(bytes_);
    try {
      for (Part& part : parts_)
        if (part.device != kElsewhere && part.bytes > 0) allocate(part);
    } catch (...) {
      release();
      throw;
    }
  }
  gpukern_table(const gpukern_table&) = delete;
  gpukern_table& operator=(const gpukern_table&) = delete;
  ~gpukern_table() { release(); }

  [[nodiscard]] void* data() const { return range_; }

  [[nodiscard]] gpukern_table_handle export_part(std::int32_t number, std::int32_t type) const {
    require(type == GPUKERN_HANDLE_FILE || type == GPUKERN_HANDLE_FABRIC, GPUKERN_VALUE_ERROR,
            "table_export: type must be GPUKERN_HANDLE_FILE or GPUKERN_HANDLE_FABRIC, got ", type);
    const Part& part = parts_[checked("table_export", number)];
    require(part.device != kElsewhere, GPUKERN_VALUE_ERROR, "table_export: part ", number,
            " is that of another process");
    require(exported_, GPUKERN_VALUE_ERROR,
            "table_export: the table was created without gpukern_table_desc::exported");
    if (part.bytes == 0) return {.type = GPUKERN_HANDLE_NONE, .file = -1, .fabric = {}};
    return memory_.export_handle(part.mapped.get(), static_cast<gpukern_handle_type>(type));
  }

  void import_part(std::int32_t number, const gpukern_table_handle& handle) {
    Part& part = parts_[checked("table_import", number)];
    require(part.device == kElsewhere, GPUKERN_VALUE_ERROR, "table_import: part ", number,
            " is that of this process");
    require(!part.mapped.any(), GPUKERN_VALUE_ERROR, "table_import: part ", number,
            " has been imported");
    require((handle.type == GPUKERN_HANDLE_NONE) == (part.bytes == 0), GPUKERN_VALUE_ERROR,
            "table_import: the handle of part ", number,
            " must be that of a table with the same part sizes");
    if (part.bytes == 0) return;
    map(part, {memory_, memory_.import_handle(handle)});
  }

 private:
  struct Part {
    std::int64_t device;
    std::size_t begin;  ///< of its pages, in bytes from the range's begin
    std::size_t bytes;  ///< of its pages
    Allocated mapped;
  };

  void lay_out(const gpukern_table_desc& desc) {
    require(desc.part_count > 0 && desc.part_count <= GPUKERN_MAX_TABLE_PARTS, GPUKERN_VALUE_ERROR,
            "table_create: part_count must be from 1 to ", GPUKERN_MAX_TABLE_PARTS, ", got ",
            desc.part_count);
    require(desc.part_bytes != nullptr && desc.part_devices != nullptr, GPUKERN_VALUE_ERROR,
            "table_create: part_bytes and part_devices must not be NULL");
    std::int64_t end = 0;
    for (std::int32_t i = 0; i < desc.part_count; ++i) {
      const std::int64_t bytes = desc.part_bytes[i];
      const std::int32_t device = desc.part_devices[i];
      require(bytes >= 0, GPUKERN_VALUE_ERROR,
              "table_create: part_bytes must not be negative, got ", bytes);
      require(bytes <= PTRDIFF_MAX - static_cast<std::int64_t>(kTablePage) - end,
              GPUKERN_MEMORY_ERROR, "table_create: the parts take more than ", PTRDIFF_MAX,
              " bytes");
      if (device != kElsewhere) gpukern::device_for({true, device});
      const auto first = static_cast<std::size_t>(pages_of(end));
      end += bytes;
      const auto last = static_cast<std::size_t>(pages_of(end));
      parts_.push_back({device, first * kTablePage, (last - first) * kTablePage, {}});
      bytes_ = last * kTablePage;
    }
  }

  [[nodiscard]] std::size_t checked(const char* function, std::int32_t number) const {
    require(number >= 0 && static_cast<std::size_t>(number) < parts_.size(), GPUKERN_VALUE_ERROR,
            function, ": part must be from 0 to ", parts_.size() - 1, ", got ", number);
    return static_cast<std::size_t>(number);
  }

  void allocate(Part& part) {
    map(part, {memory_, memory_.allocate(static_cast<int>(part.device), part.bytes, exported_)});
  }

  /// Maps memory as that of a part, which then has it.
  void map(Part& part, Allocated allocation) {
    memory_.map(range_ + part.begin, part.bytes, allocation.get());
    try {
      memory_.allow(range_ + part.begin, part.bytes, devices_);
    } catch (...) {
      attempt([&] { memory_.unmap(range_ + part.begin, part.bytes); });
      throw;
    }
    part.mapped = std::move(allocation);
  }

  void release() noexcept {
    for (Part& part : parts_) {
      if (part.mapped.any()) attempt([&] { memory_.unmap(range_ + part.begin, part.bytes); });
    }
    if (range_ != nullptr) attempt([&] { memory_.free(range_, bytes_); });
  }

  VirtualMemory& memory_;
  bool exported_;
  std::vector<int> devices_;
  std::vector<Part> parts_;
  std::size_t bytes_ = 0;
  std::byte* range_ = nullptr;
};

extern "C" gpukern_status gpukern_table_create(const gpukern_table_desc* desc,
                                               gpukern_table** table) {
  return guard([&] {
    require(table != nullptr, GPUKERN_VALUE_ERROR, "table_create: table must not be NULL");
    *table = nullptr;
    require(desc != nullptr, GPUKERN_VALUE_ERROR, "table_create: desc must not be NULL");
    require_struct_size("table_create: desc", desc->struct_size, kFirstSize);
    *table = std::make_unique<gpukern_table>(*desc).release();
  });
}

extern "C" void* gpukern_table_data(const gpukern_table* table) {
  return table == nullptr ? nullptr : table->data();
}

extern "C" gpukern_status gpukern_table_export(const gpukern_table* table, int32_t part,
                                               int32_t type, gpukern_table_handle* handle) {
  return guard([&] {
    require(table != nullptr && handle != nullptr, GPUKERN_VALUE_ERROR,
            "table_export: table and handle must not be NULL");
    *handle = table->export_part(part, type);
  });
}

extern "C" gpukern_status gpukern_table_import(gpukern_table* table, int32_t part,
                                               const gpukern_table_handle* handle) {
  return guard([&] {
    require(table != nullptr && handle != nullptr, GPUKERN_VALUE_ERROR,
            "table_import: table and handle must not be NULL");
    table->import_part(part, *handle);
  });
}

extern "C" gpukern_status gpukern_table_destroy(gpukern_table* table) {
  return guard([&] { delete table; });
}
