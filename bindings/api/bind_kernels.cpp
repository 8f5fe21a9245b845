// Kernels in Lua: kernel.<name>{…} for each registered one, and kernel.custom for one written in Lua.
#include "bindings/glue/def.hpp"
#include "modules/kernels/kernel.hpp"

namespace kbcd::lua {
namespace {

std::map<std::string, double> numbers(const std::string& owner, sol::optional<sol::table> table) {
  std::map<std::string, double> values;
  if (!table) return values;
  for (auto& [key, value] : *table) {
    require(key.is<std::string>(), "{}: named options such as {{sigma = 5}} expected", owner);
    if (value.get_type() != sol::type::number) {
      value.push();
      fail("{}: option {}: number expected, got {}", owner, key.as<std::string>(), describe(table->lua_state(), -1));
    }
    values[key.as<std::string>()] = value.as<double>();
  }
  return values;
}

// kappa as a Lua function of a whole panel of metric values.
class LuaKernel : public Kernel {
 public:
  LuaKernel(std::string name, Metric metric, Callback kappa)
      : name_(std::move(name)), metric_(metric), kappa_(std::move(kappa)) {}

  std::string name() const override { return name_; }
  Metric metric() const override { return metric_; }
  bool main_thread_only() const override { return true; }
  void kappa(View<float> values) const override { call(values); }
  void kappa(View<double> values) const override { call(values); }

 private:
  template <class T>
  void call(View<T> values) const {
    Matrix panel(values.rows, values.cols, dtype_of<T>);
    for (Int i = 0; i < values.rows; ++i) std::copy_n(values.line(i), values.cols, panel.view<T>().line(i));
    Matrix out = result_of<Matrix>("kernel.custom: kappa", kappa_(panel));
    require(out.rows() == values.rows && out.cols() == values.cols, "kernel.custom: kappa was given {} and returned {}",
            panel.shape(), out.shape());
    out = out.contiguous(dtype_of<T>);
    for (Int i = 0; i < values.rows; ++i) std::copy_n(out.view<T>().line(i), values.cols, values.line(i));
  }

  std::string name_;
  Metric metric_;
  Callback kappa_;
};

}  // namespace

void bind_kernels(sol::state_view lua, sol::table kbcd) {
  auto type = kbcd.new_usertype<Kernel>("Kernel", sol::no_constructor);
  def_field(type, "name", "Its name.", &Kernel::name);
  def_field(type, "metric", "dot, cosine, sqeuclidean or manhattan.", [](const Kernel& k) { return name(k.metric()); });
  def_field(type, "params", "A table of its parameters, derived ones too.",
            [](const Kernel& k) { return sol::as_table(k.params()); });
  type[sol::meta_function::to_string] = [](const Kernel& k) { return describe(k); };
  refuse_unknown_fields(type);

  sol::table kernel = lua.create_table();
  kbcd["kernel"] = kernel;
  for (auto& format : kernel_formats()) {
    std::string owner = "kernel." + format.name;
    std::string heading =
        format.params.empty() ? owner + "()" : fmt::format("{}{{{}}}", owner, fmt::join(format.params, ", "));
    def(lua, kernel, heading.c_str(), ("K(x, y) = " + format.formula).c_str(),
        [owner, make = format.make](sol::optional<sol::table> params) { return make(numbers(owner, params)); });
  }
  def(lua, kernel, "kernel.custom{metric, kappa, name}",
      "A kernel written in Lua: kappa(D) gets a Matrix of metric values and returns the kernel values, in "
      "the same shape.\n"
      "metric: dot, cosine, sqeuclidean or manhattan.",
      [](sol::table table) -> std::shared_ptr<Kernel> {
        Options options("kernel.custom", table, {"metric", "kappa", "name"});
        auto metric = options.get<std::string>("metric");
        auto kappa = options.get<sol::protected_function>("kappa");
        require(metric && kappa, "kernel.custom: metric and kappa expected");
        return std::make_shared<LuaKernel>(options.get<std::string>("name").value_or("custom"), parse_metric(*metric),
                                           Callback(*kappa));
      });
}

}  // namespace kbcd::lua
