// grid: a file that says "grid N D" holds X(i, j) = start + i D + j, counted from 0. A loader beyond those of kbcd,
// with an option of its own: this file is all of it.
#include <cstdio>

#include "modules/data/loader.hpp"

namespace kbcd {
namespace {

Loaded load_grid(const std::string& path, const Params& options) {
  std::string text(100, '\0');
  text.resize(FileReader(path).read_some(text.data(), 99));
  long n = 0, d = 0;
  require(std::sscanf(text.c_str(), "grid %ld %ld", &n, &d) == 2 && n >= 1 && n <= 1000 && d >= 1 && d <= 1000,
          "{}: 'grid N D' with numbers from 1 to 1000 expected", path);
  n = std::min<Int>(n, options.get<Int>("rows").value_or(n));
  Matrix all(n, d, options.get<DType>("dtype").value_or(DType::f64));
  for (Int i = 0; i < n; ++i)
    for (Int j = 0; j < d; ++j) all.set(i, j, options.number("start") + static_cast<double>(i * d + j));
  return {DataSet::from_matrix(all)};
}

const RegisteredLoader grid({
    .name = "grid",
    .gives = "X, which counts",
    .options = {{.name = "start", .help = "the first number", .kind = Kind::number, .otherwise = 0}},
    .matches = begins_with("grid "),
    .load = load_grid,
});

}  // namespace
}  // namespace kbcd
