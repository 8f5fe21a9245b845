// Data that is sent unchanged: from one rank to all, from all to all, and rows from their owners.
#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <thread>

#include "core/checksum.hpp"
#include "core/comm_parts.hpp"
#include "core/error.hpp"
#include "core/timers.hpp"

namespace kbcd::comm {
namespace {

constexpr Int piece = Int{1} << 30;  // bytes of a text in one message: MPI counts in int

// A text that only its rank knows the length of, as a parcel: behind a mark, or, where it is too long to travel,
// nothing.
constexpr char enclosed = '+';
std::string parcel_of(const std::string& text) {
  return travels(static_cast<Int>(text.size()) + 1) ? enclosed + text : "";
}

void wait_asleep(MPI_Request* request) {
  for (int done = 0; MPI_Test(request, &done, MPI_STATUS_IGNORE), !done;)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

MPI_Datatype row_type(DType dtype, Int cols) {
  MPI_Datatype type;
  MPI_Type_contiguous(static_cast<int>(cols), dtype == DType::f32 ? MPI_FLOAT : MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

// Identifies the rows: the first of them, as a script counts them, and a checksum of all.
std::string which(const Index& rows) {
  constexpr Int shown = 3;
  std::string first;
  for (Int i = 0; i < std::min(shown, rows.size()); ++i) first += fmt::format("{}{}", i ? ", " : "", rows[i] + 1);
  Checksum sum;
  for (Int row : rows) sum.add(static_cast<std::uint64_t>(row));
  return fmt::format("{}{}; checksum {}", first, rows.size() > shown ? ", …" : "", Checksum::text(sum.value()));
}

// Rows of every rank, row_counts[r] of them, in the order of ranks.
Matrix allgather_counted(const Matrix& mine, const std::vector<Int>& row_counts) {
  constexpr Int most = std::numeric_limits<int>::max();
  Int total = std::accumulate(row_counts.begin(), row_counts.end(), Int{0});
  require(total <= most, "gather: {} rows of all ranks; at most {} fit in a message", total, most);
  std::vector<int> counts(row_counts.begin(), row_counts.end()), starts(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
  Matrix from = mine.contiguous(mine.dtype()), all(total, mine.cols(), mine.dtype());
  if (mine.cols() == 0) return all;
  count_sent(static_cast<double>(mine.size()) * bytes_of(mine.dtype()));
  MPI_Datatype row = row_type(mine.dtype(), mine.cols());
  dispatch(mine.dtype(), [&]<class T>() {
    MPI_Allgatherv(from.view<T>().data, static_cast<int>(from.rows()), row, all.view<T>().data, counts.data(),
                   starts.data(), row, MPI_COMM_WORLD);
  });
  MPI_Type_free(&row);
  return all;
}

}  // namespace

void bcast(const std::vector<Matrix>& matrices, int root) {
  Timer timer("bcast");
  require(root >= 0 && root < size(), "bcast: a rank in 0..{} expected, got {}", size() - 1, root);
  require_numbers(matrices);
  auto details = [&] { return fmt::format("{} from rank {}", shapes(matrices), root); };
  if (travels(bytes_of(matrices))) {
    Parcel parcel{rank() == root ? pack_bytes(matrices) : ""};
    Collective here("bcast", details, "", &parcel);
    if (rank() != root) unpack_sum({&parcel.all[root], 1}, matrices);
    return;
  }
  Collective here("bcast", details);
  if (size() == 1) return;
  auto send = [&]<class T>() {
    auto packed = pack<T>(matrices);
    Int count = static_cast<Int>(packed.size());
    if (rank() == root) count_sent(sizeof(T) * static_cast<double>(count));
    for (Int i = 0; i < count; i += chunk)
      MPI_Bcast(packed.data() + i, static_cast<int>(std::min(chunk, count - i)), mpi_type<T>(), root, MPI_COMM_WORLD);
    unpack(packed, matrices);
  };
  send.operator()<float>();
  send.operator()<double>();
}

void bcast(std::string& text, int root) {
  Parcel parcel{rank() == root ? parcel_of(text) : ""};
  Collective here(
      "bcast", [&] { return fmt::format("a text from rank {}", root); }, "", travels(0) ? &parcel : nullptr);
  if (travels(0) && parcel.all[root].starts_with(enclosed)) {
    text = parcel.all[root].substr(1);
    return;
  }
  if (size() == 1) return;
  Int length = text.size();
  MPI_Bcast(&length, 1, MPI_INT64_T, root, MPI_COMM_WORLD);
  text.resize(length);
  if (rank() == root) count_sent(static_cast<double>(length));
  for (Int at = 0; at < length; at += piece)
    MPI_Bcast(text.data() + at, static_cast<int>(std::min(piece, length - at)), MPI_CHAR, root, MPI_COMM_WORLD);
}

void bcast_idle(std::string& text, int root) {
  if (size() == 1) return;
  Int length = text.size();
  MPI_Request request;
  MPI_Ibcast(&length, 1, MPI_INT64_T, root, MPI_COMM_WORLD, &request);
  wait_asleep(&request);
  text.resize(length);
  MPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, root, MPI_COMM_WORLD);
}

std::vector<std::string> allgather(const std::string& text) {
  Parcel parcel{parcel_of(text)};
  Collective here(
      "gather", [] { return "texts"; }, "", travels(0) ? &parcel : nullptr);
  auto all_enclosed = [&] {
    return std::all_of(parcel.all.begin(), parcel.all.end(), [](auto& part) { return part.starts_with(enclosed); });
  };
  if (travels(0) && all_enclosed()) {
    for (auto& part : parcel.all) part.erase(0, 1);
    return parcel.all;
  }
  std::vector<std::string> all(size(), text);
  for (int r = 0; r < size(); ++r) bcast(all[r], r);
  return all;
}

std::vector<std::string> alltoall(const std::vector<std::string>& texts) {
  Collective call("alltoall");
  if (size() == 1) return texts;
  std::vector<Int> there(size()), here(size());
  for (int r = 0; r < size(); ++r) {
    there[r] = static_cast<Int>(texts[r].size());
    if (r != rank()) count_sent(static_cast<double>(there[r]));
  }
  MPI_Alltoall(there.data(), 1, MPI_INT64_T, here.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
  std::vector<std::string> received(size());
  std::vector<MPI_Request> requests;
  auto each_piece = [&](Int bytes, auto&& begin) {
    for (Int at = 0; at < bytes; at += piece)
      begin(at, static_cast<int>(std::min(piece, bytes - at)), &requests.emplace_back());
  };
  for (int r = 0; r < size(); ++r) {
    received[r].resize(here[r]);
    each_piece(here[r], [&](Int at, int bytes, MPI_Request* request) {
      MPI_Irecv(received[r].data() + at, bytes, MPI_CHAR, r, 0, MPI_COMM_WORLD, request);
    });
    each_piece(there[r], [&](Int at, int bytes, MPI_Request* request) {
      MPI_Isend(texts[r].data() + at, bytes, MPI_CHAR, r, 0, MPI_COMM_WORLD, request);
    });
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return received;
}

Matrix allgather(const Matrix& rows) {
  Timer timer("gather");
  require_numbers({rows});
  Collective here("gather", [&] { return fmt::format("rows of {} {}", rows.cols(), name(rows.dtype())); });
  if (size() == 1) return rows.to(rows.dtype());
  // Every rank's rows, columns and type, so that all of them see a difference.
  constexpr int facts = 3;
  Int mine[facts] = {rows.rows(), rows.cols(), static_cast<Int>(rows.dtype())};
  std::vector<Int> all(facts * size()), counts(size());
  MPI_Allgather(mine, facts, MPI_INT64_T, all.data(), facts, MPI_INT64_T, MPI_COMM_WORLD);
  for (int r = 0; r < size(); ++r) {
    Int cols = all[facts * r + 1], type = all[facts * r + 2];
    require(cols == all[1] && type == all[2], "gather: rank 0 has {} columns of {}, rank {} has {} of {}", all[1],
            name(DType(all[2])), r, cols, name(DType(type)));
    counts[r] = all[facts * r];
  }
  return allgather_counted(rows, counts);
}

Matrix gather_rows(const Matrix& local, const Layout& layout, const Index& rows) {
  rows.require_within("gather_rows", layout.n);
  require(local.rows() == layout.count(rank()), "gather_rows: this rank's {} rows expected, got {}",
          layout.count(rank()), local.rows());
  auto positions = layout.owned_positions(rows, rank());
  Matrix mine(positions.size(), local.cols(), local.dtype());
  Int first = layout.first(rank());
  dispatch(local.dtype(), [&]<class T>() {
    Matrix whole = local.contiguous(local.dtype());
    auto to = mine.view<T>(), from = whole.view<T>();
    parallel_for(to.rows, mine.size(),
                 [&](Int i) { std::copy_n(from.line(rows[positions[i]] - first), from.cols, to.line(i)); });
  });
  return allgather_owned(mine, layout, rows);
}

Matrix allgather_owned(const Matrix& mine, const Layout& layout, const Index& rows) {
  Timer timer("gather_rows");
  require_numbers({mine});
  Collective here("gather_rows", [&] {
    return fmt::format("{} rows of {} {} ({})", rows.size(), mine.cols(), name(mine.dtype()), which(rows));
  });
  if (size() == 1) return mine;
  std::vector<Int> counts(size());
  for (Int row : rows) ++counts[layout.owner(row)];
  Matrix by_rank = allgather_counted(mine, counts), ordered(rows.size(), mine.cols(), mine.dtype());
  std::vector<Int> next(size());
  for (int r = 1; r < size(); ++r) next[r] = next[r - 1] + counts[r - 1];
  dispatch(mine.dtype(), [&]<class T>() {
    auto from = by_rank.view<T>(), to = ordered.view<T>();
    for (Int i = 0; i < rows.size(); ++i) std::copy_n(from.line(next[layout.owner(rows[i])]++), to.cols, to.line(i));
  });
  return ordered;
}

}  // namespace kbcd::comm
