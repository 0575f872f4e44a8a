// The forms in which a batch's block tables can go to the device, each written from the
// same flat table of 16-bit ids into one buffer of int32, in the order in which it would
// be sent.
//
//   padded            lengths [B], ids [B, W]: all columns of the table, zeros behind a row
//   padded-max        lengths [B], ids [B, L]: L the longest row of the batch
//   ragged            indptr [B + 1], ids [indptr[B]]: rows end to end
//   changed-rows      (row, length) [n, 2], ids: the n rows that changed, end to end
//   changed-cells     (row, column, id) [n, 3]: the last id of each row that changed
//   one-per-sequence  padded, each row in a copy of its own: length and ids of row b from
//                     b * (1 + W) on
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../aligned_array.hpp"
#include "../clock.hpp"
#include "../contract.hpp"

namespace blockmark {

// What a form took: bytes to send, and how many copies send them.
struct Sent {
  std::int64_t bytes = 0;
  std::int64_t copies = 0;
};

class PackBatch {
 public:
  enum class Form {
    padded,
    padded_max,
    ragged,
    changed_rows,
    changed_cells,
    one_per_sequence,
  };

  static Form form_of(const std::string& name) {
    static constexpr const char* names[] = {"padded",       "padded-max",    "ragged",
                                            "changed-rows", "changed-cells", "one-per-sequence"};
    for (int i = 0; i < 6; ++i) {
      if (name == names[i]) return static_cast<Form>(i);
    }
    throw_value("there is no form " + name);
  }

  // `table` is [rows, width], of which `lengths[b]` ids count; `changed` are rows. Copies
  // all three. Throws Error(value) for lengths beyond the width and rows that are none.
  PackBatch(const std::uint16_t* table, std::int64_t rows, std::int64_t width,
            const std::int32_t* lengths, const std::int32_t* changed, std::int64_t num_changed)
      : rows_(rows),
        width_(width),
        table_(rows * width, 0),
        lengths_(lengths, lengths + rows),
        changed_(changed, changed + num_changed),
        staging_(width + 1, 0),
        out_(std::max(rows * (width + 2), 3 * num_changed) + 1, 0) {
    if (rows < 1 || width < 1) throw_value("a batch has a row and a column at least");
    for (const std::int32_t length : lengths_) {
      if (length < 1 || length > width) throw_value("a row's length is 1 to the width");
    }
    std::vector<bool> seen(static_cast<std::size_t>(rows), false);
    for (const std::int32_t row : changed_) {
      if (row < 0 || row >= rows || seen[static_cast<std::size_t>(row)]) {
        throw_value("changed rows are rows of the batch, each once");
      }
      seen[static_cast<std::size_t>(row)] = true;
    }
    std::memcpy(table_.data(), table, static_cast<std::size_t>(rows * width) * sizeof *table);
    longest_ = *std::max_element(lengths_.begin(), lengths_.end());
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t width() const { return width_; }
  const AlignedArray<std::int32_t>& out() const { return out_; }

  Sent write(Form form) {
    switch (form) {
      case Form::padded: return padded(width_);
      case Form::padded_max: return padded(longest_);
      case Form::ragged: return ragged();
      case Form::changed_rows: return changed_rows();
      case Form::changed_cells: return changed_cells();
      case Form::one_per_sequence: return one_per_sequence();
    }
    return {};
  }

  // Nanoseconds of so many batches.
  std::int64_t timed(Form form, std::int64_t batches) {
    const std::int64_t started = now_ns();
    for (std::int64_t i = 0; i < batches; ++i) {
      sink(write(form).bytes);
      asm volatile("" : : "r"(out_.data()) : "memory");
    }
    return now_ns() - started;
  }

 private:
  static constexpr std::int64_t word = sizeof(std::int32_t);

  std::int64_t length(std::int64_t row) const { return lengths_[static_cast<std::size_t>(row)]; }
  static void widen(const std::uint16_t* ids, std::int64_t count, std::int32_t* __restrict out) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = ids[i];
  }
  const std::uint16_t* ids(std::int64_t row) const { return table_.data() + row * width_; }

  [[gnu::noinline]] Sent padded(std::int64_t columns) {
    std::int32_t* out = out_.data();
    for (std::int64_t row = 0; row < rows_; ++row) *out++ = lengths_[static_cast<std::size_t>(row)];
    for (std::int64_t row = 0; row < rows_; ++row, out += columns) {
      widen(ids(row), length(row), out);
      std::fill(out + length(row), out + columns, 0);
    }
    return {(rows_ + rows_ * columns) * word, 1};
  }

  [[gnu::noinline]] Sent ragged() {
    std::int32_t* indptr = out_.data();
    std::int32_t* out = indptr + rows_ + 1;
    std::int32_t sum = 0;
    for (std::int64_t row = 0; row < rows_; ++row) {
      indptr[row] = sum;
      widen(ids(row), length(row), out + sum);
      sum += lengths_[static_cast<std::size_t>(row)];
    }
    indptr[rows_] = sum;
    return {(rows_ + 1 + sum) * word, 1};
  }

  [[gnu::noinline]] Sent changed_rows() {
    const auto count = static_cast<std::int64_t>(changed_.size());
    std::int32_t* head = out_.data();
    std::int32_t* out = head + 2 * count;
    for (const std::int32_t row : changed_) {
      *head++ = row;
      *head++ = static_cast<std::int32_t>(length(row));
      widen(ids(row), length(row), out);
      out += length(row);
    }
    return {(out - out_.data()) * word, count == 0 ? 0 : 1};
  }

  [[gnu::noinline]] Sent changed_cells() {
    std::int32_t* out = out_.data();
    for (const std::int32_t row : changed_) {
      const std::int64_t column = length(row) - 1;
      *out++ = row;
      *out++ = static_cast<std::int32_t>(column);
      *out++ = ids(row)[column];
    }
    return {(out - out_.data()) * word, changed_.empty() ? 0 : 1};
  }

  [[gnu::noinline]] Sent one_per_sequence() {
    Sent sent;
    for (std::int64_t row = 0; row < rows_; ++row) {
      staging_[0] = static_cast<std::int32_t>(length(row));
      widen(ids(row), length(row), staging_.data() + 1);
      send(out_.data() + row * (1 + width_), staging_.data(), 1 + length(row));
      sent.bytes += (1 + length(row)) * word;
      ++sent.copies;
    }
    return sent;
  }
  // A transfer's call is never merged with the next one.
  [[gnu::noinline]] static void send(std::int32_t* to, const std::int32_t* from,
                                     std::int64_t count) {
    std::memcpy(to, from, static_cast<std::size_t>(count * word));
  }

  std::int64_t rows_;
  std::int64_t width_;
  std::int64_t longest_ = 0;
  AlignedArray<std::uint16_t> table_;
  std::vector<std::int32_t> lengths_;
  std::vector<std::int32_t> changed_;
  AlignedArray<std::int32_t> staging_;
  AlignedArray<std::int32_t> out_;
};

}  // namespace blockmark
