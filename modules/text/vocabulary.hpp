// Vocabulary: the n-grams of a set of documents that are frequent enough, and not too frequent, each with a column.
//
// Columns are in the order of the n-grams' bytes, and counts are whole numbers: the same on any number of ranks. Each
// rank counts its documents; the counts of an n-gram are summed on the rank that its hash selects, which keeps it or
// not, so that only n-grams that are kept are sent to all.
#pragma once

#include <optional>

#include "modules/text/documents.hpp"
#include "modules/text/sparse_rows.hpp"
#include "modules/text/term_table.hpp"

namespace kbcd {

struct VocabularyOptions {
  NgramOrders orders = {};
  Int min_count = 1;             // occurrences in all documents
  Int min_documents = 1;         // documents that have it
  double max_share = 1;          // of the documents, that may have it
  std::optional<Int> most = {};  // only so many, the most frequent; of equals the first in the order of bytes
};

class Vocabulary {
 public:
  Vocabulary(const Documents& documents, const VocabularyOptions& options);  // collective
  // As it was: `terms` with a line break between them, in their order; for each, a row of counts: how often it
  // occurred, and in how many of the n documents. What no vocabulary has is an error.
  Vocabulary(std::string_view terms, const Matrix& counts, Int n, NgramOrders orders, bool characters);

  Int size() const { return terms_.size(); }
  Int n() const { return n_; }  // documents it was made of
  NgramOrders orders() const { return orders_; }
  bool characters() const { return characters_; }  // whether the n-grams are of characters, not of words
  std::string_view term(Int i) const { return terms_[i]; }
  Int find(std::string_view term) const { return terms_.find(term); }
  std::string terms(Int first, Int last) const;  // with line breaks between them
  Matrix counts() const;                         // rows: occurrences, documents
  Int count(Int i) const { return counts_[i]; }
  Int documents(Int i) const { return documents_[i]; }
  double idf(Int i) const;  // ln((1 + n) / (1 + documents with it)) + 1

 private:
  Int n_;
  NgramOrders orders_;
  bool characters_;
  TermTable terms_;
  std::vector<Int> counts_, documents_;
};

// A column for each n-gram of the vocabulary; others are skipped (collective).
TextMatrix vocabulary_matrix(const Documents& documents, const Vocabulary& vocabulary, bool idf,
                             const WeightOptions& weights);

}  // namespace kbcd
