#include "modules/text/document_line.hpp"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

namespace kbcd {
namespace {

void parse_object(rapidjson::Document& json, std::string_view line, const std::string& where) {
  json.Parse<rapidjson::kParseValidateEncodingFlag | rapidjson::kParseIterativeFlag>(line.data(), line.size());
  require(!json.HasParseError(), "{}: an object of JSON expected; at byte {}: {}", where, json.GetErrorOffset() + 1,
          rapidjson::GetParseError_En(json.GetParseError()));
  require(json.IsObject(), "{}: an object of JSON expected, got {}", where, shown(line));
}

}  // namespace

void DocumentLine::parse(std::string_view line, Int number) {
  if (!is_utf8(line))  // require() would make the message for every line
    fail(
        "{}: line {}: UTF-8 text expected, got {}; convert the file with iconv, or leave such lines out with invalid = "
        "\"skip\"",
        plan_.path, number, shown(line));
  plan_.format == DocumentFormat::json ? parse_json(line, number) : parse_fields(line, number);
  require(!plan_.labelled || !label_.empty(), "{}: line {}: a label expected, it is empty", plan_.path, number);
  if (plan_.numbers && !whole_number_text(label_))
    fail("{}: line {}: a number expected as label, as in the first line, got {}", plan_.path, number, shown(label_));
}

const std::vector<std::string_view>& DocumentLine::split(std::string_view line, Int number) {
  if (plan_.format == DocumentFormat::csv) return fields_.of(line, number);
  tabbed_.clear();
  for (std::size_t tab; (tab = line.find('\t')) != line.npos; line.remove_prefix(tab + 1))
    tabbed_.push_back(line.substr(0, tab));
  tabbed_.push_back(line);
  return tabbed_;
}

void DocumentLine::parse_fields(std::string_view line, Int number) {
  auto& fields = split(line, number);
  require(static_cast<Int>(fields.size()) == plan_.columns,
          "{}: line {}: {} fields expected as in the first line, got {}", plan_.path, number, plan_.columns,
          fields.size());
  text_ = fields[plan_.text];
  if (plan_.labelled) label_ = trimmed(fields[plan_.label]);
  if (plan_.format != DocumentFormat::csv) return;
  if (text_.find("\"\"") != text_.npos) text_ = unquoted_ = fields_.name(plan_.text);
  if (label_.find("\"\"") != label_.npos) label_ = unquoted_label_ = fields_.name(plan_.label);
}

std::vector<std::string> DocumentLine::names(std::string_view line, Int number) {
  std::vector<std::string> list;
  if (plan_.format != DocumentFormat::json) {
    auto& fields = split(line, number);
    return {fields.begin(), fields.end()};
  }
  pool_.Clear();
  rapidjson::Document json(&pool_);
  parse_object(json, line, fmt::format("{}: line {}", plan_.path, number));
  for (auto& member : json.GetObject()) list.emplace_back(member.name.GetString(), member.name.GetStringLength());
  return list;
}

void DocumentLine::parse_json(std::string_view line, Int number) {
  auto where = [&] { return fmt::format("{}: line {}", plan_.path, number); };
  pool_.Clear();
  rapidjson::Document json(&pool_);
  parse_object(json, line, where());
  auto member = [&](const std::string& key) -> const rapidjson::Value& {
    auto found = std::as_const(json).FindMember(key.c_str());
    require(found != std::as_const(json).MemberEnd(), "{}: the object has no member '{}'", where(), key);
    return found->value;
  };
  auto require_characters = [&](std::string_view text, const std::string& key) {
    if (!is_utf8(text)) fail("{}: '{}': characters expected, got half of a pair of surrogates (\\u…)", where(), key);
  };
  auto& text = member(plan_.text_key);
  require(text.IsString(), "{}: '{}': a string expected", where(), plan_.text_key);
  text_ = {text.GetString(), text.GetStringLength()};
  require_characters(text_, plan_.text_key);
  if (!plan_.labelled) return;
  auto& label = member(plan_.label_key);
  require(label.IsString() || label.IsNumber(), "{}: '{}': a string or a number expected", where(), plan_.label_key);
  if (label.IsNumber()) number_ = fmt::format("{}", label.GetDouble());
  require(label.IsNumber() || !std::memchr(label.GetString(), '\n', label.GetStringLength()),
          "{}: '{}': a label without line breaks expected", where(), plan_.label_key);
  label_ = label.IsNumber() ? std::string_view(number_) : std::string_view(label.GetString(), label.GetStringLength());
  require_characters(label_, plan_.label_key);
}

}  // namespace kbcd
