#include "modules/kernels/column_widths.hpp"

#include "core/error.hpp"

namespace kbcd {
namespace {

class ColumnWidths : public Kernel {
 public:
  ColumnWidths(std::shared_ptr<Kernel> unit, std::string width, std::vector<double> widths)
      : unit_(std::move(unit)), width_(std::move(width)), widths_(std::move(widths)) {}

  std::string name() const override { return unit_->name(); }
  Values params() const override {
    Values all = unit_->params();
    all.erase("gamma");  // it would follow from a single width
    all.insert_or_assign(width_, Value(std::vector<Value>(widths_.begin(), widths_.end())));
    return all;
  }
  std::vector<double> widths() const override { return widths_; }
  std::shared_ptr<Kernel> unit() const override { return unit_; }

  // Whoever computes with a kernel asks for its metric, or for frequencies.
  Metric metric() const override { refuse(); }
  void frequency(std::uint64_t, Int, std::span<double>) const override { refuse(); }
  void kappa(View<float>) const override { refuse(); }
  void kappa(View<double>) const override { refuse(); }

  double value(std::span<const double> x, std::span<const double> y) const override {
    require(x.size() == widths_.size(), "{}: rows of {} numbers expected, got {}", name(), widths_.size(), x.size());
    std::vector<double> a(x.begin(), x.end()), b(y.begin(), y.end());
    for (std::size_t i = 0; i < a.size(); ++i) a[i] /= widths_[i], b[i] /= widths_[i];
    return unit_->value(a, b);
  }

 private:
  [[noreturn]] void refuse() const {
    fail(
        "{}: a width for each column is for algorithms and Model, which scale the rows; here, scale them first "
        "(metric.apply) and give kernel.unit",
        describe(*this));
  }

  std::shared_ptr<Kernel> unit_;
  std::string width_;
  std::vector<double> widths_;
};

}  // namespace

std::shared_ptr<Kernel> with_column_widths(const KernelFormat& format, const Values& given,
                                           const std::vector<Value>& widths) {
  std::vector<double> numbers;
  Values one = given;
  for (auto& width : widths) {  // each is checked as a single one would be
    one.insert_or_assign(*format.width, width);
    format.make(one);
    numbers.push_back(std::get<double>(width));
  }
  require(!numbers.empty(), "kernel.{}: {}: a number, or a number for each column, expected, got an empty list",
          format.name, *format.width);
  one.insert_or_assign(*format.width, Value(1));
  return std::make_shared<ColumnWidths>(format.make(one), *format.width, std::move(numbers));
}

}  // namespace kbcd
