// Sparse rows of texts from grams that are hashed to columns, weighted with their idf. Each group of grams has a given
// share of the squared length of a row, which is 1:
//
//     x_c = √(share / Σ v²) v_c      with v_c = times · (ln((1 + n) / (1 + training texts with c)) + 1),     Σ over the
//     group
//
// Two passes over the texts: the first counts the training texts of each column, the second makes the rows.
#pragma once

#include <string_view>
#include <vector>

#include "modules/data/csr_builder.hpp"

namespace kbcd {

class GramRows {
 public:
  GramRows(Int columns, std::vector<double> shares);
  void count(std::size_t group, std::string_view gram);  // of the current text
  void end_text(bool training);                          // in the first pass
  void end_pass(Int training_texts);                     // of all ranks; all ranks call it
  void end_row();                                        // in the second pass
  Csr finish() const;
  const Matrix& texts_with() const { return texts_with_; }  // 1 x columns, after end_pass
  // In place of the first pass: the counts of other training texts.
  void set_texts_with(const Matrix& counts, Int training_texts);

 private:
  void sort_grams();
  Int columns_;
  double training_texts_ = 0;
  std::vector<double> shares_;
  std::vector<std::vector<std::uint32_t>> grams_;  // for each group, the columns of the current text, from 0
  Matrix texts_with_;                              // 1 x columns
  CsrBuilder rows_;
};

}  // namespace kbcd
