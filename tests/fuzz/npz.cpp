// NumPy's .npz, a zip archive of .npy files; and the sparse matrices that SciPy writes so.
#include "fuzz.hpp"

namespace kbcd::fuzz {

namespace {

Bytes i4(const std::vector<double>& values) {
  return tests::npy("'<i4'", fmt::format("({},)", values.size()), tests::numbers<std::int32_t>(values));
}

}  // namespace

std::vector<Bytes> seeds() {
  using namespace tests;
  Bytes x = npy("'<f8'", "(3, 2)", numbers<double>(counting(6)));
  Bytes y = npy("'|u1'", "(3,)", numbers<std::uint8_t>(counting(3)));
  std::vector<Bytes> files;
  for (bool deflated : {false, true})
    for (bool zip64 : {false, true}) {
      files.push_back(Zip{.deflated = deflated, .zip64 = zip64}.of({{"x.npy", x}}) + '\0');
      files.push_back(Zip{.deflated = deflated, .zip64 = zip64}.of({{"x.npy", x}, {"y.npy", y}}) + '\1');
    }
  Bytes text = npy("'|S2'", "(2,)", "abcd"), size = npy("'<i8'", "(2,)", numbers<std::int64_t>({3, 2}));
  Bytes data = npy("'<f4'", "(3,)", numbers<float>({1, 2, 3})), indices = i4({0, 1, 1});
  auto format = [](const char* name) { return npy("'|S3'", "()", name); };
  for (bool deflated : {false, true}) {
    Zip zip{.deflated = deflated};
    auto compressed = [&](const char* name, const Bytes& starts) {
      return zip.of({{"indices.npy", indices},
                     {"indptr.npy", starts},
                     {"format.npy", format(name)},
                     {"shape.npy", size},
                     {"data.npy", data}});
    };
    files.push_back(compressed("csr", i4({0, 1, 1, 3})) + '\0');
    files.push_back(compressed("csc", i4({0, 1, 3})) + '\0');
    files.push_back(zip.of({{"row.npy", i4({2, 0, 2})},
                            {"col.npy", indices},
                            {"format.npy", format("coo")},
                            {"shape.npy", size},
                            {"data.npy", data}}) +
                    '\0');
    files.push_back(zip.of({{"x.npy", text}}) + '\3');
  }
  return files;
}

void parse(const std::string& path, unsigned choice) {
  load(path,
       pick<Values>(choice, {{}, {{"member", "x"}}, {{"rows", 1}, {"member", "y"}}, {{"names", true}}, {{"rows", 2}}}));
}

}  // namespace kbcd::fuzz
