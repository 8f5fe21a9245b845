// KernelBlock, RandomFeaturesBlock and Selector in Lua, and `*` for everything that can be multiplied.
#include "bindings/glue/def.hpp"
#include "core/blas.hpp"
#include "core/elementwise.hpp"
#include "modules/blocks/block.hpp"
#include "modules/blocks/kernel_columns.hpp"
#include "modules/blocks/selector.hpp"

namespace kbcd {

struct BlockT {
  std::shared_ptr<Block> block;
};
struct KernelColumnsT {
  std::shared_ptr<KernelColumns> columns;
};
struct SelectorT {
  Selector selector;
};

namespace lua {

template <>
inline constexpr const char* type_name<KernelTriangle> = "KernelTriangle";
template <>
inline constexpr const char* type_name<KernelColumns> = "KernelColumns";
template <>
inline constexpr const char* type_name<KernelColumnsT> = "transposed KernelColumns";

namespace {

Matrix multiply(sol::this_state L, sol::object a, sol::object b) {
  RunningState here(L);
  bool numbers = a.get_type() == sol::type::number || b.get_type() == sol::type::number;
  static auto &elementwise = timers::entry("Matrix elementwise"), &products = timers::entry("Matrix *");
  if (numbers && (a.is<Matrix>() || b.is<Matrix>())) {
    Timer timer(elementwise);
    Matrix m = (a.is<Matrix>() ? a : b).as<Matrix&>().clone();
    scale(m, (a.is<Matrix>() ? b : a).as<double>());
    return m;
  }
  if (b.is<Matrix>()) {
    auto& right = b.as<Matrix&>();
    if (a.is<Matrix>()) {
      Timer timer(products);
      return blas::product(a.as<Matrix&>(), right);
    }
    if (a.is<Block>()) return a.as<Block&>().times(right);
    if (a.is<BlockT>()) return a.as<BlockT&>().block->t_times(right);
    if (a.is<KernelColumns>()) return a.as<KernelColumns&>().times(right);
    if (a.is<KernelColumnsT>()) return a.as<KernelColumnsT&>().columns->t_times(right);
    if (a.is<Selector>()) return a.as<Selector&>().times(right);
    if (a.is<SelectorT>()) return a.as<SelectorT&>().selector.t_times(right);
  }
  fail("cannot multiply {} by {}", describe(L, 1), describe(L, 2));
}

Keep keep_option(const Options& options) {
  auto given = options.get<std::string>("keep");
  if (!given) return Keep::while_it_fits;
  if (*given == "none") return Keep::none;
  if (*given == "exact" || *given == "f32") return Keep::exact;  // "f32": its former name
  require(*given == "f16", "keep: \"exact\", \"f16\" or \"none\" expected, got \"{}\"", *given);
  return Keep::f16;
}

BlockOptions block_options(const Options& options) {
  auto scale = [&](const char* key) {
    auto given = options.get<Matrix>(key);
    return given ? std::optional<Matrix>(*given) : std::nullopt;
  };
  return {keep_option(options), scale("row_scale"), scale("column_scale")};
}

std::optional<Index> rows_option(const Options& options) {
  auto given = options.get<Index>("rows");
  return given ? std::optional<Index>(*given) : std::nullopt;
}

void bind_block(sol::state_view lua, sol::table kbcd) {
  auto type = kbcd.new_usertype<Block>("Block", sol::no_constructor);
  document(
      lua, "Block", "B:t() * A, B * D",
      "The n x b operator that KernelBlock and RandomFeaturesBlock return; each rank holds its own rows. B:t() * A is this\n"
      "rank's part of a sum over the ranks (allreduce it); B * D is this rank's rows of the product. Both results are f64,\n"
      "computed in the precision of the block. The first product computes the block. It is kept if it fits the memory\n"
      "budget; otherwise every product computes it again, in panels.");
  def_field(type, "nrows", "This rank's rows.", [](const Block& b) { return b.rows(); });
  def_field(type, "ncols", "The columns.", &Block::cols);
  def_field(type, "dtype", "\"f32\" or \"f64\".", [](const Block& b) { return name(b.dtype()); });
  def_field(type, "kept", "Whether its entries are in memory now.", &Block::kept);
  def_field(type, "bytes", "The memory that it takes on this rank when it is kept.",
            [](const Block& b) { return static_cast<double>(b.bytes()); });
  def_field(type, "stays", "Whether it stays in memory until it is released.", &Block::stays);
  def(lua, type, "Block:t()", "The transpose, for B:t() * A.", [](std::shared_ptr<Block> b) { return BlockT{b}; });
  def(lua, type, "Block:gram([precision])",
      "B' B of this rank's rows (allreduce it), in \"f32\" or \"f64\"; default: the block's.",
      [](std::shared_ptr<Block> b, sol::optional<DType> precision) { return b->gram(precision.value_or(b->dtype())); });
  def(lua, type, "Block:normal(A [, precision])", "B:gram(precision) and B:t() * A, from one pass over the block.",
      [](std::shared_ptr<Block> b, const Matrix& a, sol::optional<DType> precision) {
        auto normal = b->normal(a, precision.value_or(b->dtype()));
        return std::make_tuple(normal.gram, normal.t_times);
      });
  def(lua, type, "Block:both(D, A)", "B * D and B:t() * A, from one pass over the block.",
      [](std::shared_ptr<Block> b, const Matrix& d, const Matrix& a) {
        auto both = b->both(d, a);
        return std::make_tuple(both.times, both.t_times);
      });
  def(lua, type, "Block:rows(J)", "Rows J of the whole block, on every rank. All ranks call it.",
      [](std::shared_ptr<Block> b, const Index& j) { return b->rows(j); });
  def(lua, type, "Block:square()",
      "K(I, I) of a KernelBlock's own centres I, a b x b Matrix; each rank may call it alone.",
      [](std::shared_ptr<Block> b) { return b->square(); });
  def(lua, type, "Block:dense([first, last])",
      "This rank's rows as a Matrix; or only its rows first..last, without computing the others.",
      [](std::shared_ptr<Block> b, sol::optional<Int> first, sol::optional<Int> last) {
        if (!first && !last) return b->dense();
        return b->dense(first.value_or(1) - 1, last.value_or(b->rows()) - first.value_or(1) + 1);
      });
  def(lua, type, "Block:release()", "Frees the memory of the entries now; a later product computes them again.",
      [](std::shared_ptr<Block> b) { b->release(); });
  type[sol::meta_function::multiplication] = &multiply;
  type[sol::meta_function::to_string] = [](const Block& b) {
    return fmt::format("{} {}x{} {}{}", b.name(), b.rows(), b.cols(), name(b.dtype()),
                       b.kept() ? ", kept in memory" : "");
  };
  refuse_unknown_fields(type);
  auto transposed = kbcd.new_usertype<BlockT>("BlockT", sol::no_constructor);
  transposed[sol::meta_function::multiplication] = &multiply;
  transposed[sol::meta_function::to_string] = [](const BlockT& b) {
    return fmt::format("{} {}x{} {}, transposed", b.block->name(), b.block->cols(), b.block->rows(),
                       name(b.block->dtype()));
  };
  refuse_unknown_fields(transposed);
}

void bind_selector(sol::state_view lua, sol::table kbcd) {
  auto type = kbcd.new_usertype<Selector>("SelectorType", sol::no_constructor);
  def(lua, type, "Selector:t()", "The transpose, for S:t() * A.", [](const Selector& s) { return SelectorT{s}; });
  type[sol::meta_function::multiplication] = &multiply;
  type[sol::meta_function::to_string] = [](const Selector& s) {
    return fmt::format("Selector {}x{}", s.n(), s.columns().size());
  };
  refuse_unknown_fields(type);
  auto transposed = kbcd.new_usertype<SelectorT>("SelectorT", sol::no_constructor);
  transposed[sol::meta_function::multiplication] = &multiply;
  transposed[sol::meta_function::to_string] = [](const SelectorT& s) {
    return fmt::format("Selector {}x{}, transposed", s.selector.columns().size(), s.selector.n());
  };
  refuse_unknown_fields(transposed);
  kbcd["SelectorType"] = kbcd["SelectorT"] = kbcd["BlockT"] = sol::lua_nil;
}

void bind_triangle(sol::state_view lua, sol::table kbcd) {
  auto type = kbcd.new_usertype<KernelTriangle>("KernelTriangle", sol::no_constructor);
  def_field(type, "nrows", "This rank's rows.", [](const KernelTriangle& k) { return k.rows(); });
  def_field(type, "ncols", "All rows.", &KernelTriangle::cols);
  def_field(type, "tiles", "The number of tiles.", &KernelTriangle::tiles);
  def_field(type, "group", "How many tiles are computed at once.", &KernelTriangle::group);
  def_field(type, "stays", "Whether all of it stays in memory, on every rank.", &KernelTriangle::stays);
  def_field(type, "kept", "How many entries are in memory on this rank.", &KernelTriangle::entries);
  def(lua, type, "KernelTriangle:times(V)", "K V for this rank's rows of V: this rank's rows. All ranks call it.",
      [](std::shared_ptr<KernelTriangle> k, const Matrix& v) { return k->times(v); });
  def(lua, type, "KernelTriangle:columns(tiles)",
      "K([n], I) of the rows I of some tiles as an operator C: C:t() * V, C * D, C:square(). All ranks call it.",
      [](std::shared_ptr<KernelTriangle> k, const Index& tiles) { return std::make_shared<KernelColumns>(k, tiles); });
  def(lua, type, "KernelTriangle:tile(t)", "The rows of a tile.", [](std::shared_ptr<KernelTriangle> k, Int t) {
    require(t >= 1 && t <= k->tiles(), "KernelTriangle:tile: a number in 1..{} expected, got {}", k->tiles(), t);
    return k->tile(t - 1);
  });
  def(lua, type, "KernelTriangle:release()", "Frees the memory of the entries now.",
      [](std::shared_ptr<KernelTriangle> k) { k->release(); });
  type[sol::meta_function::to_string] = [](const KernelTriangle& k) {
    return fmt::format("KernelTriangle {}x{}", k.rows(), k.cols());
  };
  refuse_unknown_fields(type);
  auto columns = kbcd.new_usertype<KernelColumns>("KernelColumns", sol::no_constructor);
  def_field(columns, "nrows", "This rank's rows.", [](const KernelColumns& c) { return c.rows(); });
  def_field(columns, "ncols", "The columns.", [](const KernelColumns& c) { return c.cols(); });
  def(lua, columns, "KernelColumns:t()",
      "The transpose, for C:t() * V: this rank's part of the sum. All ranks call it.",
      [](std::shared_ptr<KernelColumns> c) { return KernelColumnsT{c}; });
  def(lua, columns, "KernelColumns:square()", "K(I, I), a Matrix; each rank may call it alone.",
      [](std::shared_ptr<KernelColumns> c) { return c->square(); });
  def(lua, columns, "KernelColumns:rows()", "I: the rows of X that the columns belong to, an Index.",
      [](std::shared_ptr<KernelColumns> c) { return c->columns(); });
  def(lua, columns, "KernelColumns:release()", "Does nothing: the triangle has the entries.",
      [](std::shared_ptr<KernelColumns>) {});
  columns[sol::meta_function::multiplication] = &multiply;
  columns[sol::meta_function::to_string] = [](const KernelColumns& c) {
    return fmt::format("KernelColumns {}x{}", c.rows(), c.cols());
  };
  refuse_unknown_fields(columns);
  auto transposed = kbcd.new_usertype<KernelColumnsT>("KernelColumnsT", sol::no_constructor);
  transposed[sol::meta_function::multiplication] = &multiply;
  transposed[sol::meta_function::to_string] = [](const KernelColumnsT& c) {
    return fmt::format("KernelColumns {}x{}, transposed", c.columns->cols(), c.columns->rows());
  };
  refuse_unknown_fields(transposed);
  kbcd["KernelColumns"] = kbcd["KernelColumnsT"] = sol::lua_nil;
  def(lua, kbcd, "KernelTriangle(X, kernel, order [, options])",
      "All of K(X, X), of which one triangle is computed, kept and read, in tiles of rows; order: an Index of all rows.\n"
      "options: tile (rows of a tile), group (tiles that are computed at once), keep, scale (KernelMatrix explains both).",
      [](const DataSet& x, std::shared_ptr<Kernel> kernel, const Index& order, sol::optional<sol::table> table) {
        Options options("KernelTriangle", table, {"tile", "group", "keep", "scale"});
        KernelTriangle::Options o;
        o.tile = options.get<Int>("tile").value_or(o.tile);
        o.group = options.get<Int>("group").value_or(o.group);
        o.keep = options.get<std::string>("keep") ? keep_option(options) : Keep::exact;
        if (auto scale = options.get<Matrix>("scale")) o.scale = *scale;
        return std::make_shared<KernelTriangle>(x, kernel, order, o);
      });
}

}  // namespace

void bind_blocks(sol::state_view lua, sol::table kbcd) {
  bind_block(lua, kbcd);
  bind_selector(lua, kbcd);
  bind_triangle(lua, kbcd);
  sol::usertype<Matrix> matrix = kbcd["Matrix"];
  matrix[sol::meta_function::multiplication] = &multiply;

  def(lua, kbcd, "KernelBlock(X, I, kernel [, options])",
      "K([n], I): columns I of the kernel matrix of X, as an operator (help \"Block\"). All ranks call it.\n"
      "options: rows (an Index: only these rows of X), centers (the DataSet that I numbers the rows of; X "
      "unless given),\n"
      "keep (\"exact\" or \"f16\": to stay in memory, if it fits the budget, until released, in the precision of X or "
      "in half that\n"
      "of f32; \"none\": never kept, the fastest for a block that is multiplied once), row_scale (this rank's rows of X "
      "x 1) and\n"
      "column_scale (|I| x 1): the block is diag(row_scale) K diag(column_scale), and its square "
      "diag(column_scale) K(I, I)\n"
      "diag(column_scale).",
      [](const DataSet& x, const Index& columns, std::shared_ptr<Kernel> kernel, sol::optional<sol::table> table) {
        Options options("KernelBlock", table, {"rows", "centers", "keep", "row_scale", "column_scale"});
        auto centers = options.get<DataSet>("centers");
        return kernel_block(x, columns, kernel, rows_option(options), centers ? *centers : x, block_options(options));
      });
  def(lua, kbcd, "RandomFeaturesBlock(X, I, map [, options])",
      "Z([n], I): columns I of the feature matrix of X under a map of kbcd.features, as an operator (see "
      "Block).\n"
      "options: rows (an Index: only these rows of X), keep, row_scale (as for KernelBlock).",
      [](const DataSet& x, const Index& features, std::shared_ptr<FeatureMap> map, sol::optional<sol::table> table) {
        Options options("RandomFeaturesBlock", table, {"rows", "keep", "row_scale"});
        return random_features_block(x, features, map, rows_option(options), block_options(options));
      });
  def(lua, kbcd, "Selector(n, I)",
      "The n x |I| matrix S with S(I[j], j) = 1: S * D scatters the rows of D to rows I of this rank's part "
      "of n rows;\n"
      "S:t() * A gathers this rank's part of rows I of A (allreduce it). Where I has a number twice, S * D adds both rows "
      "to it.",
      [](Int n, const Index& columns) { return Selector(n, columns); });
}

}  // namespace lua
}  // namespace kbcd
