// Kernels in Lua: kernel.<name>{…} for each registered one, kernel.custom for one written in Lua, and
// kernels.declared(), the declarations, for the commands.
#include "bindings/glue/panel_call.hpp"
#include "bindings/glue/values.hpp"
#include "modules/kernels/kernel.hpp"

namespace kbcd::lua {
namespace {

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
  double value(std::span<const double> x, std::span<const double> y) const override {
    Matrix one(1, 1, DType::f64);
    one.set(0, 0, metric_value(metric_, x, y));
    call(one.view<double>());
    return one.get(0, 0);
  }

 private:
  template <class T>
  void call(View<T> values) const {
    call_on_panel("kernel.custom: kappa", kappa_, values, values);
  }

  std::string name_;
  Metric metric_;
  Callback kappa_;
};

}  // namespace

void bind_kernels(sol::state_view lua, sol::table kbcd) {
  auto type = kbcd.new_usertype<Kernel>("Kernel", sol::no_constructor);
  def_field(type, "name", "Its name.", &Kernel::name);
  def_field(type, "metric", "dot, cosine, sqeuclidean or manhattan.",
            [](const Kernel& k) { return name(k.unit() ? k.unit()->metric() : k.metric()); });
  def_field(type, "params", "A table of its parameters, derived ones too.",
            [](const Kernel& k, sol::this_state L) { return to_lua(L, k.params()); });
  def_field(type, "widths", "A list with a width for each column, where it has such; else nil.",
            [](const Kernel& k, sol::this_state L) -> sol::object {
              auto widths = k.widths();
              if (widths.empty()) return sol::lua_nil;
              return sol::make_object(L, sol::as_table(widths));
            });
  def_field(type, "unit", "The kernel of width 1 behind one with a width for each column; else nil.",
            [](const Kernel& k, sol::this_state L) -> sol::object {
              return k.unit() ? sol::make_object(L, k.unit()) : sol::object(sol::lua_nil);
            });
  def(lua, type, "Kernel:slope()",
      "The kernel whose values are the derivatives dkappa/dt of this one's with respect to the metric value t (the squared\n"
      "distance, of rbf and matern): blocks of it give gradients of models. 0 at a cusp (matern of nu = 0.5 at t = 0).",
      [](std::shared_ptr<Kernel> k) { return slope_of(std::move(k)); });
  type[sol::meta_function::to_string] = [](const Kernel& k) { return describe(k); };
  refuse_unknown_fields(type);

  sol::table kernel = lua.create_table();
  kbcd["kernel"] = kernel;
  for (auto& format : kernel_formats()) {
    std::string owner = "kernel." + format.name;
    std::string heading =
        format.params.empty() ? owner + "()" : fmt::format("{}{{{}}}", owner, joined_names(format.params));
    std::string text = fmt::format("K(x, y) = {}.{}", format.formula, help_text(format.params));
    def(lua, kernel, heading.c_str(), text.c_str(),
        [owner, &format](sol::optional<sol::table> params) { return format.make(values_of(owner, params)); });
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

  sol::table kernels = lua.create_table();
  kbcd["kernels"] = kernels;
  kernels["declared"] = make_function(lua, [](lua_State* L) {
    auto own_fields = [](sol::table& entry, const KernelFormat& format) {
      entry["metric"] = name(format.metric);
      entry["frequencies"] = format.has_frequencies;
      if (format.width) entry["width"] = *format.width;
    };
    return sol::stack::push(L, to_lua(L, kernel_formats(), own_fields));
  });
}

}  // namespace kbcd::lua
