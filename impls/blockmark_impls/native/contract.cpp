#include "contract.hpp"

namespace blockmark {

namespace {

std::string number(std::int64_t value) { return std::to_string(value); }

void check_positive(const char* name, std::int64_t value, std::int64_t limit) {
  if (value < 1) throw_value(std::string(name) + " must be at least 1, not " + number(value));
  if (value > limit) {
    throw_value(std::string(name) + " is " + number(value) + ", more than " + number(limit));
  }
}

}  // namespace

const Sizes& Sizes::checked(std::int64_t limit, const char* id) const {
  constexpr std::int64_t int32_max = std::numeric_limits<std::int32_t>::max();
  check_positive("total_blocks", total_blocks, std::numeric_limits<std::int64_t>::max());
  check_positive("block_size", block_size, int32_max);
  check_positive("max_seqs", max_seqs, int32_max);
  check_positive("max_blocks_per_seq", max_blocks_per_seq, int32_max);
  if (row_pad > int32_max) throw_value("row_pad is " + number(row_pad) + ", more than 2^31 - 1");
  if (total_blocks > limit) {
    throw_value(number(total_blocks) + " blocks are more than " + id + " ids can number (" +
                number(limit) + ")");
  }
  return *this;
}

void throw_value(const std::string& message) { throw Error(ErrorKind::value, message); }

void throw_unknown_sequence(std::int64_t seq) {
  throw Error(ErrorKind::unknown_sequence, "sequence " + number(seq) + " does not exist");
}

void throw_not_in_table(std::int64_t seq, std::int64_t logical) {
  throw Error(ErrorKind::unknown_sequence,
              "sequence " + number(seq) + " has no block " + number(logical));
}

void throw_sequence_exists(std::int64_t seq) {
  throw Error(ErrorKind::sequence_exists, "sequence " + number(seq) + " exists");
}

void throw_no_such_slot(std::int64_t seq, std::int64_t max_seqs) {
  throw_value("sequence " + number(seq) + " is not one of the " + number(max_seqs) + " slots");
}

void throw_too_long(std::int64_t seq, std::int64_t max_blocks) {
  throw Error(ErrorKind::sequence_too_long, "sequence " + number(seq) + " would need more than " +
                                                number(max_blocks) + " blocks");
}

void throw_out_of_blocks(std::int64_t needed, std::int64_t free) {
  throw Error(ErrorKind::out_of_blocks,
              number(needed) + " blocks needed, " + number(free) + " are free");
}

void throw_bad_tokens(std::int64_t num_tokens) {
  throw_value("num_tokens is " + number(num_tokens));
}

void throw_bad_truncate(std::int64_t seq, std::int64_t num_tokens) {
  throw_value("sequence " + number(seq) + " cannot be truncated to " + number(num_tokens) +
              " tokens");
}

void throw_bad_drop(std::int64_t seq, std::int64_t num_blocks) {
  throw_value("the first " + number(num_blocks) + " blocks of sequence " + number(seq) +
              " cannot be dropped");
}

void throw_bad_prefix(std::int64_t seq, std::int64_t num_blocks) {
  throw_value("sequence " + number(seq) + " has no prefix of " + number(num_blocks) +
              " full blocks to share");
}

void throw_row_too_wide(std::int64_t seq, std::int64_t blocks, std::int64_t width) {
  throw_value("sequence " + number(seq) + " has " + number(blocks) + " blocks, the rows only " +
              number(width) + " columns");
}

}  // namespace blockmark
