// CIFAR-10 binary batches.
#include "fuzz.hpp"
#include "modules/vision/image_loader.hpp"

namespace kbcd::fuzz {

std::vector<Bytes> seeds() {
  return {Bytes(3073, '\1') + '\0', Bytes(2 * 3073, '\2') + '\1', Bytes(3073, '\7') + "cut short" + '\1'};
}

void parse(const std::string& path, unsigned choice) {
  vision::load_images({path}, {.format = "cifar", .skip = choice % 2 == 1});
}

}  // namespace kbcd::fuzz
