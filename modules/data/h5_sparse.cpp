// Sparse rows in HDF5 files: a group of three lists, `values`, `columns` and `starts`, as scipy.sparse.csr_matrix takes
// them.
#include <cmath>
#include <limits>

#include "modules/data/h5.hpp"
#include "modules/data/h5_handle.hpp"

namespace kbcd {
namespace {

constexpr Int widest = std::numeric_limits<std::int32_t>::max();

}  // namespace

void H5File::append(const std::string& group, const Csr& rows) {
  if (!has(group)) {
    Int zero = 0;
    make_group(group);
    append_list(group + "/starts", H5T_NATIVE_INT64, &zero, 1);
  }
  Int before = append_list(group + "/columns", H5T_NATIVE_INT32, rows.columns.data(), rows.nnz());
  dispatch(rows.dtype(), [&]<class T>() {
    append_list(group + "/values", dtype_of<T> == DType::f32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE,
                rows.values.view<T>().data, rows.nnz());
  });
  std::vector<Int> ends(rows.starts.begin() + 1, rows.starts.end());
  for (Int& end : ends) end += before;
  append_list(group + "/starts", H5T_NATIVE_INT64, ends.data(), rows.rows);
}

Int H5File::sparse_rows(const std::string& group) const {
  auto length = [&](const char* name) {
    auto list = extent(fmt::format("{}/{}", group, name));
    require(list.cols() == 1, "{}/{}: a list expected, it is {}", at(group), name, fmt::join(list.shape, "x"));
    return list.rows();
  };
  Int values = length("values"), columns = length("columns"), rows = length("starts") - 1;
  require(values == columns, "{}: as many columns as values expected, got {} and {}", at(group), columns, values);
  require(rows >= 0, "{}/starts: at least one number expected, it is empty", at(group));
  Int first = read_whole_numbers(group + "/starts", 0, 1, values)[0];
  Int last = read_whole_numbers(group + "/starts", rows, 1, values)[0];
  require(first == 0 && last == values, "{}/starts: from 0 to the {} values expected, they go from {} to {}", at(group),
          values, first, last);
  return rows;
}

std::vector<Int> H5File::read_whole_numbers(const std::string& dataset, Int first, Int count, Int most) const {
  std::vector<Int> numbers(count);
  Matrix list = read(dataset, first, count, DType::f64);
  for (Int i = 0; i < count; ++i) {
    double x = list.get(i, 0);
    require(x >= 0 && x <= static_cast<double>(most) && x == std::floor(x),
            "{}: number {}: a whole number in 0..{} expected, got {}", at(dataset), first + i + 1, most, x);
    numbers[i] = static_cast<Int>(x);
  }
  return numbers;
}

Csr H5File::read_sparse(const std::string& group, Int cols, Int first, Int count, DType dtype) const {
  Int rows = sparse_rows(group), entries = extent(group + "/values").rows();
  require(first >= 0 && count >= 0 && first + count <= rows, "{}: rows {}..{} asked for, it has {}", at(group),
          first + 1, first + count, rows);
  require(cols >= 1 && cols <= widest, "{}: 1 to {} columns expected, got {}", at(group), widest, cols);
  Csr csr;
  csr.rows = count;
  csr.cols = cols;
  csr.starts = read_whole_numbers(group + "/starts", first, count + 1, entries);
  Int before = csr.starts.front();
  for (Int i = 0; i <= count; ++i) {
    require(csr.starts[i] >= before && (i == 0 || csr.starts[i] - before >= csr.starts[i - 1]),
            "{}/starts: number {}: it must not be below the one before", at(group), first + i + 1);
    csr.starts[i] -= before;
  }
  for (Int column : read_whole_numbers(group + "/columns", before, csr.starts.back(), cols - 1))
    csr.columns.push_back(static_cast<std::int32_t>(column));
  csr.values = read(group + "/values", before, csr.starts.back(), dtype).t().contiguous(dtype);
  for (Int i = 0; i < count; ++i)
    for (Int e = csr.starts[i] + 1; e < csr.starts[i + 1]; ++e)
      require(csr.columns[e - 1] < csr.columns[e], "{}: row {}: columns that ascend expected, got {} behind {}",
              at(group), first + i + 1, csr.columns[e], csr.columns[e - 1]);
  return csr;
}

}  // namespace kbcd
