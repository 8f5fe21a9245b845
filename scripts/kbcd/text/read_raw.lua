-- read_raw(raw, words, how): Documents for a pipeline: of a path, or Documents that were read already. words: how the
-- words are read, as text.read takes it. how: labels (whether labels are wanted), text and label (columns), header, rows,
-- invalid, empty. A file of one column, or of JSON without the member, has no labels; of CSV with several, `text` must be
-- given. Names that end in .txt are read as TSV.

local kbcd = require "kbcd"

local function has(list, name)
  for _, other in ipairs(list) do if other == name then return true end end
  return false
end

return function(raw, words, how)
  if kbcd.type(raw) == "Documents" then return raw end
  local plain = raw:gsub("%.gz$", "")
  local o = { format = how.format or plain:match("%.txt$") and "tsv" or nil, header = how.header, rows = how.rows,
    invalid = how.invalid, empty = how.empty or "keep", text = how.text, label = how.label }
  for name, value in pairs(words) do o[name] = value end
  local fields
  kbcd.together(function() fields = kbcd.text.fields(raw, o.format) end)
  if #fields == 0 then error(raw .. ": texts expected, a line each; there is none", 0) end
  local json = (o.format or plain):find("json") ~= nil
  if (o.format or plain):find("csv$") and #fields > 1 and not how.text then  -- its first line may be a header
    error(("%s: %d columns, the first '%s'; --text says which holds the text: a number, or a name in the first line"):format(
      raw, #fields, fields[1]), 0)
  end
  if not (how.labels and (how.label or (json and has(fields, "label")) or (not json and #fields > 1))) then
    o.label = false
    if not json then o.text = how.text or math.min(2, #fields) end
  end
  return kbcd.text.read(raw, o)
end
