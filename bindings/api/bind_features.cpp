// Feature maps in Lua: features.<name>{kernel, p, seed, …} for each registered one, features.custom for one written in
// Lua, and maps.declared(), the declarations, for the commands.
#include "bindings/glue/panel_call.hpp"
#include "bindings/glue/values.hpp"
#include "modules/features/columns.hpp"

namespace kbcd::lua {
namespace {

// map(X, I) as a Lua function of a panel of rows.
class LuaMap : public FeatureMap {
 public:
  LuaMap(std::string name, Int p, Callback map) : name_(std::move(name)), p_(p), map_(std::move(map)) {}

  std::string name() const override { return name_; }
  Int p() const override { return p_; }
  bool main_thread_only() const override { return true; }
  std::shared_ptr<FeatureBlock> block(const Index& features, Int, DType) const override {
    return std::make_shared<Columns>(map_, features);
  }

 private:
  struct Columns : FeatureBlock {
    Columns(Callback map, Index features) : map(std::move(map)), features(std::move(features)) {}
    void apply(View<float> x, View<float> z) const override { call_on_panel(function, map, x, z, features); }
    void apply(View<double> x, View<double> z) const override { call_on_panel(function, map, x, z, features); }

    static constexpr const char* function = "features.custom: map";
    Callback map;
    Index features;
  };

  std::string name_;
  Int p_;
  Callback map_;
};

}  // namespace

void bind_features(sol::state_view lua, sol::table kbcd) {
  auto type = kbcd.new_usertype<FeatureMap>("FeatureMap", sol::no_constructor);
  def_field(type, "name", "Its name.", &FeatureMap::name);
  def_field(type, "p", "The number of features.", &FeatureMap::p);
  def_field(type, "kernel", "The kernel that it approximates, or nil.", &FeatureMap::kernel);
  def_field(type, "seed", "The seed of its random numbers, or nil.", [](const FeatureMap& map) {
    auto seed = map.seed();
    return seed ? sol::optional<double>(static_cast<double>(*seed)) : sol::nullopt;
  });
  def_field(type, "in_order",
            "Whether features that follow each other are computed together: blocks take them in order.",
            &FeatureMap::in_order);
  def_field(type, "params",
            "A table of its own parameters: features[map.name] with these, kernel, p and seed makes it anew.",
            [](const FeatureMap& map, sol::this_state L) { return to_lua(L, map.params()); });
  type[sol::meta_function::to_string] = [](const FeatureMap& map) { return describe(map); };
  refuse_unknown_fields(type);

  sol::table features = lua.create_table();
  kbcd["features"] = features;
  for (auto& format : feature_map_formats()) {
    std::string owner = "features." + format.name;
    std::vector<std::string> known = {"kernel", "p", "seed"};
    for (auto& param : format.params) known.push_back(param.name);
    std::string heading = fmt::format("{}{{{}}}", owner, fmt::join(known, ", "));
    std::string text = fmt::format("p random features: z_j(x) = {}.{}", format.formula, help_text(format.params));
    def(lua, features, heading.c_str(), text.c_str(), [owner, known, &format](sol::table table, sol::this_state L) {
      Options options(owner.c_str(), table, known);
      auto kernel = options.get<std::shared_ptr<Kernel>>("kernel");
      auto p = options.get<Int>("p");
      require(kernel && p, "{}: kernel and p expected", owner);
      sol::table own = sol::state_view(L).create_table();
      for (auto& param : format.params) own[param.name] = table.raw_get<sol::object>(param.name);
      return format.make(*kernel, *p, checked_seed(owner.c_str(), options.get<Int>("seed")), values_of(owner, own));
    });
  }
  def(lua, features, "features.columns{p}",
      "The p columns of X themselves, z_j(x) = x_j: for rows that are features already, such as those of Documents:hash.",
      [](sol::table table) -> std::shared_ptr<FeatureMap> {
        auto p = Options("features.columns", table, {"p"}).get<Int>("p");
        require(p.has_value(), "features.columns: p, the number of columns of X, expected");
        return std::make_shared<ColumnsMap>(*p);
      });
  def(lua, features, "features.custom{p, map, name}",
      "A map written in Lua: map(X, I) gets a Matrix of rows and an Index of features and returns their "
      "values, a row each.\n"
      "Feature j must depend on j alone, not on the other features of the block.",
      [](sol::table table) -> std::shared_ptr<FeatureMap> {
        Options options("features.custom", table, {"p", "map", "name"});
        auto p = options.get<Int>("p");
        auto map = options.get<sol::protected_function>("map");
        require(p && map && *p >= 1, "features.custom: p >= 1 and map expected");
        return std::make_shared<LuaMap>(options.get<std::string>("name").value_or("custom"), *p, Callback(*map));
      });

  sol::table maps = lua.create_table();
  kbcd["maps"] = maps;
  maps["declared"] = make_function(lua, [](lua_State* L) {
    return sol::stack::push(L, to_lua(L, feature_map_formats(), [](sol::table&, const FeatureMapFormat&) {}));
  });
}

}  // namespace kbcd::lua
