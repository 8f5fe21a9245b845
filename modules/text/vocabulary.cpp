#include "modules/text/vocabulary.hpp"

#include <cstring>
#include <numeric>

namespace kbcd {
namespace {

struct Counts {
  TermTable terms;
  std::vector<Int> counts, documents;

  Int add(std::string_view term, Int count, Int documents_with_it) {
    Int i = terms.add(term);
    if (i == static_cast<Int>(counts.size())) counts.push_back(0), documents.push_back(0);
    counts[i] += count;
    documents[i] += documents_with_it;
    return i;
  }

  // As bytes, to travel: length, count, documents, and the text.
  void pack(Int i, std::string& to) const {
    Int numbers[] = {static_cast<Int>(terms[i].size()), counts[i], documents[i]};
    to.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
    to += terms[i];
  }
  void unpack(std::string_view from) {
    Int numbers[3];
    while (!from.empty()) {
      std::memcpy(numbers, from.data(), sizeof numbers);
      add(from.substr(sizeof numbers, numbers[0]), numbers[1], numbers[2]);
      from.remove_prefix(sizeof numbers + numbers[0]);
    }
  }
};

Counts counts_here(const Documents& documents, NgramOrders orders) {
  Counts counts;
  std::vector<Int> last;  // the document in which a term was seen last
  Int document = 0;
  for (Documents::Reader reader(documents); reader.next(); ++document)
    each_ngram(reader.words(), orders, [&](std::string_view ngram) {
      Int i = counts.add(ngram, 1, 0);
      if (i == static_cast<Int>(last.size())) last.push_back(-1);
      if (last[i] != document) ++counts.documents[i];
      last[i] = document;
    });
  return counts;
}

}  // namespace

Vocabulary::Vocabulary(const Documents& documents, const VocabularyOptions& options)
    : n_(documents.n()), orders_(options.orders), characters_(documents.characters()) {
  Counts mine;
  comm::together([&] { mine = counts_here(documents, options.orders); });
  std::vector<std::string> parts(comm::size());
  for (Int i = 0; i < mine.terms.size(); ++i) mine.pack(i, parts[mine.terms.hash(i) % comm::size()]);
  mine = {};

  Counts owned;
  for (auto& part : comm::alltoall(parts)) owned.unpack(part);
  parts = {};
  std::string kept;
  for (Int i = 0; i < owned.terms.size(); ++i)
    if (owned.counts[i] >= options.min_count && owned.documents[i] >= options.min_documents &&
        static_cast<double>(owned.documents[i]) <= options.max_share * static_cast<double>(n_))
      owned.pack(i, kept);
  Counts all;
  for (auto& part : comm::allgather(kept)) all.unpack(part);

  std::vector<Int> order(all.terms.size());
  std::iota(order.begin(), order.end(), Int{0});
  auto by_bytes = [&](Int a, Int b) { return all.terms[a] < all.terms[b]; };
  if (options.most && *options.most < all.terms.size()) {
    std::sort(order.begin(), order.end(), [&](Int a, Int b) {
      return all.counts[a] != all.counts[b] ? all.counts[a] > all.counts[b] : by_bytes(a, b);
    });
    order.resize(*options.most);
  }
  require(!order.empty(),
          "{}: no n-gram is left of {} documents; lower min_count and min_documents, or raise max_share",
          documents.path(), n_);
  require(static_cast<Int>(order.size()) <= most_columns, "{}: {} n-grams, more than {} columns; raise min_count",
          documents.path(), order.size(), most_columns);
  std::sort(order.begin(), order.end(), by_bytes);
  for (Int i : order) {
    terms_.add(all.terms[i]);
    counts_.push_back(all.counts[i]);
    documents_.push_back(all.documents[i]);
  }
}

Vocabulary::Vocabulary(std::string_view terms, const Matrix& counts, Int n, NgramOrders orders, bool characters)
    : n_(n), orders_(orders), characters_(characters) {
  require(is_utf8(terms), "vocabulary: terms in UTF-8 expected");
  require(counts.cols() == 2, "vocabulary: counts: two columns expected, got {}", counts.cols());
  for (std::string_view last; !terms.empty();) {
    std::string_view term = terms.substr(0, terms.find('\n'));
    terms.remove_prefix(std::min(terms.size(), term.size() + 1));
    Int i = terms_.size();
    require(last < term, "vocabulary: term {}: terms that are not empty, in the order of their bytes, expected", i + 1);
    require(i < counts.rows(), "vocabulary: {} rows of counts, and more terms", counts.rows());
    double times = counts.get(i, 0), with = counts.get(i, 1);
    bool good = with >= 1 && times >= with && with <= static_cast<double>(n) && times <= 0x1p53 &&
                times == std::floor(times) && with == std::floor(with);
    require(good, "vocabulary: term {}: it cannot occur {} times, in {} of {} documents", i + 1, times, with, n);
    terms_.add(term);
    counts_.push_back(static_cast<Int>(times));
    documents_.push_back(static_cast<Int>(with));
    last = term;
  }
  require(size() == counts.rows() && size() > 0, "vocabulary: {} terms for {} rows of counts", size(), counts.rows());
}

std::string Vocabulary::terms(Int first, Int last) const {
  std::string all;
  for (Int i = first; i <= last; ++i) (all += i > first ? "\n" : "") += terms_[i];
  return all;
}

Matrix Vocabulary::counts() const {
  Matrix table(size(), 2, DType::f64);
  for (Int i = 0; i < size(); ++i) {
    table.set(i, 0, static_cast<double>(counts_[i]));
    table.set(i, 1, static_cast<double>(documents_[i]));
  }
  return table;
}

double Vocabulary::idf(Int i) const {
  return std::log((1.0 + static_cast<double>(n_)) / (1.0 + static_cast<double>(documents_[i]))) + 1;
}

TextMatrix vocabulary_matrix(const Documents& documents, const Vocabulary& vocabulary, bool idf,
                             const WeightOptions& weights) {
  auto unit = [](bool characters) { return characters ? "characters" : "words"; };
  require(documents.characters() == vocabulary.characters(), "{}: a vocabulary of {} expected, got one of {}",
          documents.path(), unit(documents.characters()), unit(vocabulary.characters()));
  std::vector<double> factors(vocabulary.size(), 1.0);
  if (idf)
    for (Int i = 0; i < vocabulary.size(); ++i) factors[i] = vocabulary.idf(i);
  return dispatch(weights.dtype, [&]<class T>() {
    SparseRows<T> rows(documents.local_n(), vocabulary.size(), weights);
    comm::together([&] {
      for (Documents::Reader reader(documents); reader.next();) {
        each_ngram(reader.words(), vocabulary.orders(), [&](std::string_view ngram) {
          Int i = vocabulary.find(ngram);
          if (i >= 0) rows.add(static_cast<std::uint32_t>(i));
        });
        rows.end_row([&](std::uint32_t column) { return factors[column]; });
      }
    });
    return rows.finish(documents.n(), documents.path());
  });
}

}  // namespace kbcd
