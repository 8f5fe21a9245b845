// Documents: the texts of a file, one on each line, with their labels; distributed over the ranks like rows of data.
//
// Only the labels are held in memory. The texts are read from the file whenever they are needed; each rank reads its
// own byte range, line by line.
#pragma once

#include "modules/text/document_line.hpp"
#include "modules/text/words.hpp"

namespace kbcd {

enum class Bad { fail, skip, keep };

struct DocumentOptions {
  std::optional<std::string> format = {};  // "tsv", "csv" or "jsonl"; default: by the file's name
  std::optional<ColumnName> text = {}, label = {};
  bool labelled = true;
  std::optional<bool> header = {};  // TSV and CSV; default: where a column is named
  std::optional<Int> rows = {};     // only the first so many documents
  Bad invalid = Bad::fail;          // a line that cannot be read
  Bad empty = Bad::fail;            // a document without words
  WordOptions words = {};
};

class Documents {
 public:
  Documents(const std::string& path, const DocumentOptions& options);  // collective

  const std::string& path() const { return plan_->path; }
  Int n() const { return share_.n; }
  Int local_n() const { return share_.rows(); }
  Int first() const { return share_.begin.rows; }
  const std::optional<DataSet>& labels() const { return labels_; }
  const std::vector<std::string>& classes() const { return classes_; }
  bool characters() const { return options_.words.characters; }  // whether n-grams are of characters
  Int invalid() const { return invalid_; }                       // lines that were skipped, over all ranks
  Int empty() const { return empty_; }                           // documents without words that were skipped

  // This rank's documents, one after the other.
  class Reader {
   public:
    // Without `words`, words are read only where documents without any are skipped.
    explicit Reader(const Documents& documents, bool words = true);
    bool next();
    std::string_view text() const { return line_.text(); }
    std::string_view label() const { return line_.label(); }
    const Words& words() const { return words_; }
    Int invalid = 0, empty = 0;  // lines skipped so far

   private:
    std::shared_ptr<const DocumentPlan> plan_;
    DocumentOptions options_;
    bool with_words_;
    LineReader lines_;
    Int number_;  // of the line read last
    DocumentLine line_;
    WordReader word_reader_;
    Words words_;
  };

 private:
  void read_labels();

  DocumentOptions options_;
  std::shared_ptr<const DocumentPlan> plan_;
  TextShare share_;
  std::optional<DataSet> labels_;
  std::vector<std::string> classes_;
  Int invalid_ = 0, empty_ = 0;
};

// The fields of the first line that is not blank, of TSV and CSV; the names of the members, of JSON.
std::vector<std::string> first_fields(const std::string& path, const std::optional<std::string>& format);

}  // namespace kbcd
