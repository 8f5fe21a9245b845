// Documents, one a line: TSV, CSV and JSON; and their words.
#include "modules/text/documents.hpp"
#include "fuzz.hpp"

namespace kbcd::fuzz {

std::vector<Bytes> seeds() {
  return {
      Bytes("1\tgood words here\n2\tbad ones\n") + '\0',
      Bytes("label,text\na,\"one, \"\"two\"\"\"\nb,three\n") + '\1',
      Bytes(R"({"text": "caf\u00e9 \ud83d\ude00", "label": 1})"
            "\n"
            R"({"label": 2.5, "text": "", "x": [1, {}]})"
            "\n") +
          '\2',
      Bytes(R"({"text": "a b", "label": "yes"})"
            "\n") +
          '\5',
  };
}

void parse(const std::string& path, unsigned choice) {
  DocumentOptions options{.format = pick<std::string>(choice, {"tsv", "csv", "jsonl"})};
  if (choice / 3 % 2) options.invalid = options.empty = Bad::skip;
  Documents documents(path, options);
  Documents::Reader reader(documents);
  while (reader.next()) {
  }
}

}  // namespace kbcd::fuzz
