// The comparison of calls, and with it the data of small ones.
//
// Every rank sends the hash of its call to every other rank, followed by its parcel: the data of a call that is small
// enough. Such a call costs the time of one message, since nothing waits for the comparison, and where the calls
// differ, nothing of the data is used. Sums of parcels are in the order of the ranks, and so the same on every rank to
// the bit. Many ranks compare hashes by a sum over a tree, and send data in calls of their own.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/comm_parts.hpp"
#include "core/error.hpp"

namespace kbcd::comm {
namespace {

constexpr int tag = 1;
constexpr int few_ranks = 4, some_ranks = 16;                 // that send to all others directly …
constexpr Int of_few = Int{1} << 19, of_some = Int{1} << 14;  // … so many bytes each

constexpr Int piece = 60000;  // bytes of a message

using Hash = std::uint64_t;

struct Header {
  Int length;  // of the whole message
  Hash hash;
};

// Sends `message`, which begins with its header, to every other rank, and calls received(r, message) for each of
// theirs. It travels in pieces so short that MPI sends them at once: for longer ones it would first ask the receiver,
// and wait.
template <class Received>
void swap_messages(const std::string& message, Received&& received) {
  static std::string buffer(piece, '\0');
  Int length = static_cast<Int>(message.size());
  std::vector<MPI_Request> sends;
  for (Int at = 0; at < length; at += piece)
    for (int k = 1; k < size(); ++k)
      MPI_Isend(message.data() + at, static_cast<int>(std::min(piece, length - at)), MPI_CHAR, (rank() + k) % size(),
                tag, check_comm(), &sends.emplace_back());
  for (int k = 1; k < size(); ++k) {
    int from = (rank() + size() - k) % size(), first = 0;
    MPI_Status status;
    MPI_Recv(buffer.data(), static_cast<int>(piece), MPI_CHAR, from, tag, check_comm(), &status);
    MPI_Get_count(&status, MPI_CHAR, &first);
    Header header;
    std::memcpy(&header, buffer.data(), sizeof header);
    if (header.length > static_cast<Int>(buffer.size())) buffer.resize(header.length);
    for (Int at = first; at < header.length; at += piece)
      MPI_Recv(buffer.data() + at, static_cast<int>(std::min(piece, header.length - at)), MPI_CHAR, from, tag,
               check_comm(), MPI_STATUS_IGNORE);
    received(from, header.hash, std::string_view(buffer.data(), header.length).substr(sizeof header));
  }
  MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
}

}  // namespace

bool travels(Int bytes) {
  return size() > 1 && bytes <= (size() <= few_ranks ? of_few : size() <= some_ranks ? of_some : -1);
}

bool compare(Hash hash, Parcel* parcel) {
  if (size() > some_ranks) {
    Hash extremes[2] = {hash, ~hash};
    MPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_UINT64_T, MPI_MAX, check_comm());
    return extremes[0] == ~extremes[1];
  }
  Int length = static_cast<Int>(sizeof(Header) + (parcel ? parcel->mine.size() : 0));
  Header header{length, hash};
  std::string message(reinterpret_cast<const char*>(&header), sizeof header);
  if (parcel) {
    message += parcel->mine;
    parcel->all.assign(size(), {});
    parcel->all[rank()] = parcel->mine;
    count_sent(static_cast<double>(parcel->mine.size()));
  }
  bool equal = true;
  swap_messages(message, [&](int from, Hash theirs, std::string_view text) {
    equal = equal && theirs == hash;
    if (parcel) parcel->all[from] = text;
  });
  return equal;
}

Int bytes_of(const std::vector<Matrix>& matrices) {
  Int bytes = 0;
  for (auto& m : matrices) bytes += m.size() * static_cast<Int>(kbcd::bytes_of(m.dtype()));
  return bytes;
}

std::string pack_bytes(const std::vector<Matrix>& matrices) {
  std::string bytes;
  bytes.reserve(bytes_of(matrices));
  auto add = [&](const auto& numbers) {
    bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof numbers[0]);
  };
  add(pack<float>(matrices));
  add(pack<double>(matrices));
  return bytes;
}

void unpack_sum(std::span<const std::string> parts, const std::vector<Matrix>& matrices) {
  for (auto& part : parts)
    require(static_cast<Int>(part.size()) == bytes_of(matrices),
            "the ranks do not make the same call: {} bytes expected from each, got {}", bytes_of(matrices),
            part.size());
  std::size_t from = 0;
  auto sum = [&]<class T>() {
    Int count = 0;
    for (auto& m : matrices) count += m.dtype() == dtype_of<T> ? m.size() : 0;
    std::vector<T> total(count);
    for (auto& part : parts)
      for (Int i = 0; i < count; ++i) {
        T number;
        std::memcpy(&number, part.data() + from + i * sizeof(T), sizeof(T));
        total[i] += number;
      }
    from += count * sizeof(T);
    unpack(total, matrices);
  };
  sum.operator()<float>();
  sum.operator()<double>();
}

}  // namespace kbcd::comm
