// HDF5 files in Lua, as model files need them. Each process works by itself; usually rank 0 writes and all ranks read.
#include "bindings/glue/def.hpp"
#include "modules/data/h5.hpp"

namespace kbcd::lua {
namespace {

using File = std::shared_ptr<H5File>;

std::vector<double> numbers(const char* owner, const sol::table& table) {
  std::vector<double> list;
  for (std::size_t i = 1; i <= table.size(); ++i) {
    auto value = table.raw_get<sol::object>(i);
    require(value.get_type() == sol::type::number, "{}: element {} of the list is not a number", owner, i);
    list.push_back(value.as<double>());
  }
  return list;
}

void bind_attributes(sol::state_view lua, sol::usertype<H5File>& type) {
  def(lua, type, "H5File:set(object, name, value)",
      "An attribute of a group or dataset: a number, a text or a list of numbers.",
      [](File f, const std::string& object, const std::string& name, sol::object value, sol::this_state L) {
        if (value.get_type() == sol::type::number)
          f->set_attribute(object, name, value.as<double>());
        else if (value.get_type() == sol::type::string)
          f->set_attribute(object, name, value.as<std::string>());
        else if (value.get_type() == sol::type::table)
          f->set_attribute(object, name, numbers("H5File:set", value));
        else
          fail("H5File:set: argument 3 (value): a number, a text or a list expected, got {}", describe(L, 4));
      });
  def(lua, type, "H5File:get(object, name)", "An attribute: a number, a text or a list of numbers.",
      [](File f, const std::string& object, const std::string& name, sol::this_state L) {
        return std::visit(
            [&](const auto& value) {
              if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::vector<double>>)
                return sol::make_object(L, sol::as_table(value));
              else
                return sol::make_object(L, value);
            },
            f->attribute(object, name));
      });
  def(lua, type, "H5File:attributes(object)", "The names of the attributes of a group or dataset.",
      [](File f, const std::string& object) { return sol::as_table(f->attributes(object)); });
}

void bind_tables(sol::state_view lua, sol::usertype<H5File>& type) {
  def(lua, type, "H5File:append(dataset, A)",
      "Appends the rows of a Matrix. The first call makes the dataset, in the type of the Matrix.",
      [](File f, const std::string& dataset, const Matrix& a) { f->append(dataset, a); });
  def(lua, type, "H5File:write_texts(dataset, list)", "A new dataset of texts.",
      [](File f, const std::string& dataset, sol::table list) {
        std::vector<std::string> texts;
        for (std::size_t i = 1; i <= list.size(); ++i) {
          auto text = list.raw_get<sol::object>(i);
          require(text.get_type() == sol::type::string, "H5File:write_texts: element {} of the list is no text", i);
          texts.push_back(text.as<std::string>());
        }
        f->write_texts(dataset, texts);
      });
  def(lua, type, "H5File:shape(dataset)",
      "The sizes of its dimensions, and \"f32\" or \"f64\", the type that holds its numbers.",
      [](File f, const std::string& dataset) {
        auto extent = f->extent(dataset);
        bool narrow = extent.kind == 'f' && extent.bytes <= 4;
        return std::make_tuple(sol::as_table(extent.shape), name(narrow ? DType::f32 : DType::f64));
      });
  def(lua, type, "H5File:read(dataset, first, last [, dtype])",
      "Rows first..last of a dataset of numbers, f64 unless given.",
      [](File f, const std::string& dataset, Int first, Int last, sol::optional<DType> dtype) {
        return f->read(dataset, first - 1, last - first + 1, dtype.value_or(DType::f64));
      });
  def(lua, type, "H5File:append_sparse(group, S)",
      "Appends sparse rows, a Csr, to a group of the lists values, columns (from 0) and starts. The first call makes the group.",
      [](File f, const std::string& group, const Csr& rows) { f->append(group, rows); });
  def(lua, type, "H5File:sparse_rows(group)", "How many sparse rows such a group holds.",
      [](File f, const std::string& group) { return f->sparse_rows(group); });
  def(lua, type, "H5File:read_sparse(group, d, first, last [, dtype])",
      "Rows first..last of such a group as a Csr of d columns, f64 unless given.",
      [](File f, const std::string& group, Int d, Int first, Int last, sol::optional<DType> dtype) {
        return f->read_sparse(group, d, first - 1, last - first + 1, dtype.value_or(DType::f64));
      });
  def(lua, type, "H5File:texts(dataset)", "The list of a dataset of texts.",
      [](File f, const std::string& dataset) { return sol::as_table(f->read_texts(dataset)); });
}

}  // namespace

void bind_h5(sol::state_view lua, sol::table kbcd) {
  auto type = kbcd.new_usertype<H5File>("H5File", sol::no_constructor);
  bind_attributes(lua, type);
  bind_tables(lua, type);
  def(lua, type, "H5File:group(path)", "Creates a group.",
      [](File f, const std::string& path) { f->make_group(path); });
  def(lua, type, "H5File:has(path)", "Whether the file has this group or dataset.",
      [](File f, const std::string& path) { return f->has(path); });
  def(lua, type, "H5File:members(group)", "The names in a group.",
      [](File f, const std::string& group) { return sol::as_table(f->members(group)); });
  def(lua, type, "H5File:datasets()", "The paths of all datasets of the file.",
      [](File f) { return sol::as_table(f->datasets()); });
  def(lua, type, "H5File:close()", "Writes buffered data and closes the file.", [](File f) { f->close(); });
  def_field(type, "path", "The path of the file.", [](const H5File& f) { return f.path(); });
  type[sol::meta_function::to_string] = [](const H5File& f) { return "H5File " + f.path(); };
  refuse_unknown_fields(type);
  kbcd["H5File"] = sol::lua_nil;

  sol::table h5 = lua.create_table();
  kbcd["h5"] = h5;
  def(lua, h5, "h5.create(path)", "A new HDF5 file; it replaces an existing one.",
      [](const std::string& path) { return std::make_shared<H5File>(H5File::create(path)); });
  def(lua, h5, "h5.open(path [, own])",
      "Opens an HDF5 file for reading. own = true: a file that h5.create made is expected; one without checksums is refused.",
      [](const std::string& path, sol::optional<bool> own) {
        return std::make_shared<H5File>(H5File::open(path, own.value_or(false)));
      });
}

}  // namespace kbcd::lua
