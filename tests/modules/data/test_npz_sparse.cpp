// Reading what scipy.sparse.save_npz writes: csr, csc and coo of every type, each rank its rows; and broken ones.
#include <map>

#include "tests/support/files.hpp"

namespace kbcd::tests {
namespace {

// The arrays of a matrix by name, as text for npy(): what a test changes.
struct Array {
  std::string descr, shape;
  Bytes payload;
};
using Arrays = std::map<std::string, Array>;

template <class U>
Array array(const std::string& descr, const std::vector<double>& values) {
  return {descr, fmt::format("({},)", values.size()), numbers<U>(values)};
}
Array i4(const std::vector<double>& values) {
  return array<std::int32_t>("'<i4'", values);
}
Array f8(const std::vector<double>& values) {
  return array<double>("'<f8'", values);
}

Bytes archive(const Arrays& arrays, bool deflated = false) {
  std::vector<std::pair<std::string, Bytes>> members;
  for (auto& [name, a] : arrays) members.emplace_back(name + ".npy", npy(a.descr, a.shape, a.payload));
  return Zip{.deflated = deflated}.of(members);
}

// 4 x 3: (0, 2, 0), (0, 0, 0), (3, 4, 5), (6, 0, 0), with unsorted columns and an entry in two parts.
const Dense expected = rows_by_rows({0, 2, 0, 0, 0, 0, 3, 4, 5, 6, 0, 0}, 4);

Array format(const char* name) {
  return {"'|S3'", "()", name};
}

const Array shape = array<std::int64_t>("'<i8'", {4, 3});
const Arrays csr = {{"format", format("csr")},
                    {"shape", shape},
                    {"indptr", i4({0, 1, 1, 5, 6})},
                    {"indices", i4({1, 2, 0, 1, 1, 0})},
                    {"data", f8({2, 5, 3, 1, 3, 6})}};
const Arrays csc = {{"format", format("csc")},
                    {"shape", shape},
                    {"indptr", i4({0, 2, 5, 6})},
                    {"indices", i4({3, 2, 2, 0, 2, 2})},
                    {"data", f8({6, 3, 1, 2, 3, 5})}};
const Arrays coo = {{"format", format("coo")},
                    {"shape", shape},
                    {"row", i4({3, 2, 0, 2, 2, 2})},
                    {"col", i4({0, 1, 1, 2, 0, 1})},
                    {"data", f8({6, 1, 2, 5, 3, 3})}};

void check_loads(const Arrays& arrays, const Dense& rows, const Values& options = {}, DType dtype = DType::f64) {
  for (bool deflated : {false, true}) {
    Loaded loaded = load(File(archive(arrays, deflated)).path, options);
    BOOST_TEST(loaded.x.sparse());
    BOOST_TEST(loaded.x.n() == rows.rows());
    BOOST_TEST(loaded.x.d() == rows.cols());
    BOOST_TEST((loaded.x.dtype() == dtype));
    BOOST_TEST(distance(loaded.x.to_dense().local(), share(rows)) == 0);
  }
}

void check_refused(const Arrays& arrays, const std::string& text, const Values& options = {}) {
  for (bool deflated : {false, true}) {
    std::string message = refusal(File(archive(arrays, deflated)).path, options);
    BOOST_TEST(message.find(text) != message.npos, "'" << text << "' expected in: " << message);
    BOOST_TEST(!message.empty(), "not refused; expected: " << text);
  }
}

Arrays with(Arrays arrays, const std::string& name, const Array& array) {
  arrays[name] = array;
  return arrays;
}

Arrays without(Arrays arrays, const std::string& name) {
  arrays.erase(name);
  return arrays;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(npz_sparse)

BOOST_AUTO_TEST_CASE(every_format) {
  for (auto& arrays : {csr, csc, coo}) {
    check_loads(arrays, expected);
    for (Int rows : {1, 2, 3}) check_loads(arrays, expected.topRows(rows), {{"rows", rows}});
    check_loads(arrays, expected, {{"dtype", DType::f32}}, DType::f32);
    check_refused(arrays, "rows = 5", {{"rows", 5}});
    check_refused(arrays, "scale", {{"scale", true}});
    check_refused(arrays, "names", {{"names", true}});
    Loaded one = load(File(archive(arrays)).path, {{"member", "data"}});  // by its name it is an array as any other
    BOOST_TEST(!one.x.sparse());
    BOOST_TEST(one.x.n() == 6);
  }
}

BOOST_AUTO_TEST_CASE(every_type) {
  for (auto& arrays : {csr, csc, coo}) {
    std::vector<double> values;
    for (std::size_t at = 0; at < 6; ++at) {
      double value = 0;
      Bytes raw = arrays.at("data").payload.substr(8 * at, 8);
      std::copy(raw.begin(), raw.end(), reinterpret_cast<char*>(&value));
      values.push_back(value);
    }
    check_loads(with(arrays, "data", array<float>("'<f4'", values)), expected, {}, DType::f32);
    check_loads(with(arrays, "data", array<std::int8_t>("'|i1'", values)), expected, {}, DType::f32);
    check_loads(with(arrays, "data", array<std::uint64_t>("'<u8'", values)), expected);
    check_loads(with(arrays, "data", {"'>i4'", "(6,)", numbers<std::int32_t>(values, true)}), expected);
    Bytes letters;
    for (char c : arrays.at("format").payload) letters += number<std::uint32_t>(c, false);
    check_loads(with(arrays, "format", {"'<U3'", "()", letters}), expected);
    // Truth values of one place are joined.
    check_loads(with(arrays, "data", {"'|b1'", "(6,)", Bytes(6, 1)}), (expected.array() != 0).cast<double>(), {},
                DType::f32);
  }
}

BOOST_AUTO_TEST_CASE(wide_indices_and_many_rows) {
  std::vector<double> starts = {0}, indices, data, rows;
  Dense dense = Dense::Zero(5000, 40);
  for (Int i = 0; i < 5000; ++i) {
    for (Int j = i % 5; j < 40; j += 7) {
      dense(i, j) = static_cast<double>(i + j) + 0.5;
      indices.push_back(static_cast<double>(j)), data.push_back(dense(i, j)), rows.push_back(static_cast<double>(i));
    }
    starts.push_back(static_cast<double>(indices.size()));
  }
  auto i8 = [](const std::vector<double>& values) { return array<std::int64_t>("'<i8'", values); };
  Arrays wide = {{"format", format("csr")}, {"shape", i8({5000, 40})}, {"indptr", i8(starts)},
                 {"indices", i8(indices)},  {"data", f8(data)},        {"_is_array", {"'|b1'", "()", "\1"}}};
  check_loads(wide, dense);
  // The same arrays are the transposed matrix by columns.
  wide["format"] = format("csc"), wide["shape"] = i8({40, 5000});
  check_loads(wide, dense.transpose());
  check_loads({{"format", format("coo")},
               {"shape", i8({5000, 40})},
               {"row", i8(rows)},
               {"col", i8(indices)},
               {"data", f8(data)}},
              dense);
}

BOOST_AUTO_TEST_CASE(other_formats_and_missing_arrays_are_refused) {
  for (const char* name : {"bsr", "dia", "lil", "xyz"}) check_refused(with(csr, "format", format(name)), "X.tocsr()");
  check_refused(with(csr, "format", {"'<f8'", "()", Bytes(8, 0)}), "a text expected");
  check_refused(with(csr, "format", {"'|S0'", "()", ""}), "a text expected");
  for (const char* name : {"indptr", "indices"})
    check_refused(without(csr, name), fmt::format("needs the array '{}'", name));
  for (const char* name : {"row", "col"}) check_refused(without(coo, name), fmt::format("needs the array '{}'", name));
  check_refused(without(csr, "data"), "which array");  // then it is no matrix
}

BOOST_AUTO_TEST_CASE(broken_structures_are_refused) {
  auto size = [](double n, double d) { return array<std::int64_t>("'<i8'", {n, d}); };
  check_refused(with(csr, "indptr", i4({0, 1, 1, 5})), "5 numbers expected");
  check_refused(with(csr, "indptr", i4({0, 1, 1, 5, 7})), "ascend from 0 to at most 6");
  check_refused(with(csr, "indptr", i4({0, 2, 1, 5, 6})), "ascend");
  check_refused(with(csr, "indptr", i4({1, 1, 1, 5, 6})), "ascend");
  check_refused(with(csr, "indptr", i4({0, -1, 1, 5, 6})), "ascend");
  check_refused(with(csr, "indptr", f8({0, 1, 1, 5, 6})), "whole numbers");
  check_refused(with(csc, "indptr", i4({0, 2, 1, 6})), "ascend");
  check_refused(with(csr, "indices", i4({1, 2, 0, 1, 1, 3})), "row 3 and column 3 (from 0) of a matrix of 4x3");
  check_refused(with(csr, "indices", i4({1, 2, 0, 1, 1, -1})), "column -1");
  check_refused(with(csc, "indices", i4({3, 2, 2, 0, 2, 4})), "row 4");
  check_refused(with(coo, "row", i4({4, 2, 0, 2, 2, 2})), "row 4");
  check_refused(with(coo, "col", i4({0, 1, 1, 3, 0, 1})), "column 3");
  for (auto& arrays : {csr, csc, coo}) {
    check_refused(with(arrays, "data", f8({1, 2, 3, 4, 5})), "as many as data has");
    check_refused(with(arrays, "data", {"'<f8'", "(2, 3)", Bytes(48, 0)}), "one dimension");
    check_refused(with(arrays, "data", {"'<f8'", "(6000000000,)", Bytes(48, 0)}), "announces");
    check_refused(with(arrays, "data", {"'|O'", "(6,)", Bytes(48, 0)}), "objects");
    check_refused(with(arrays, "data", {"'<c16'", "(6,)", Bytes(96, 0)}), "c16");
    check_refused(with(arrays, "data", f8({1, 2, 3, 4, 5, std::nan("")})), "finite");
    check_refused(with(arrays, "shape", array<std::int64_t>("'<i8'", {4, 3, 1})), "two dimensions");
    check_refused(with(arrays, "shape", size(0, 3)), "at least one row");
    check_refused(with(arrays, "shape", size(4, -3)), "columns expected");
    check_refused(with(arrays, "shape", size(4, 3e9)), "2^31");
    check_refused(with(arrays, "shape", size(9e15, 3)), "GB");  // nothing of this size is allocated
    check_refused(with(arrays, "shape", size(3e18, 3)), "digits");
  }
  check_refused(with(csr, "shape", size(5, 3)), "6 numbers expected");
  check_refused(with(csr, "shape", size(4, 2)), "column 2");
  check_refused(with(coo, "shape", size(3, 3)), "row 3");
}

BOOST_AUTO_TEST_CASE(truncated_and_changed_archives) {
  for (auto& arrays : {csr, csc, coo})
    for (bool deflated : {false, true}) {
      Bytes good = archive(arrays, deflated);
      for (std::size_t length = 0; length < good.size(); length += 31 * step())
        BOOST_TEST(refuses(File(good.substr(0, length)).path), length << " of " << good.size());
      for (std::size_t at = 3; at < good.size(); at += 17 * step()) {  // it may pass unseen; a crash may not
        Bytes changed = good;
        changed[at] = static_cast<char>(changed[at] ^ 0x15);
        refuses(File(changed).path);
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
