-- arguments(name, description): a parser (lua-argparse) for a command that every rank runs; rank 0 prints its messages
-- once.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

runtime.docs.arguments = [[arguments(name, description)
A parser for the options of a command (lua-argparse) that every rank runs and whose messages rank 0 prints once:
  local p = arguments("mine", "What it does.")
  p:option("--p", "Centres.", "100", argument_types.count)
  local o = p:parse(arg)]]

return function(name, description)
  local found, argparse = pcall(require, "argparse")
  if not found then error("the commands need lua-argparse; on Debian: apt-get install lua-argparse", 0) end
  local parser = argparse("kbcd " .. name, description):add_help(false)

  -- A message about a value begins with the name of its option.
  local option = parser.option
  function parser:option(names, text, default, convert)
    return option(self, names, text, default, convert and function(value)
      local result, message = convert(value)
      return result, message and ("%s: %s"):format(names:match("%-%-%S+"), message)
    end)
  end

  -- Whether there is an option of this name already.
  function parser:has(flag)
    for _, known in ipairs(self._options) do
      for _, alias in ipairs(known._aliases) do if alias == flag then return true end end
    end
    return false
  end

  local function leave(stream, text, status)
    if kbcd.rank() == 0 then
      stream:write(text, "\n")
      stream:flush()
    end
    kbcd.barrier()
    os.exit(status)
  end

  -- A negative number after an option is its value.
  local parse = parser.parse
  function parser:parse(words)
    local joined = {}
    for _, word in ipairs(words or arg) do
      local before = joined[#joined]
      if word:match("^%-%.?%d") and before and before:match("^%-%-[^=]+$") then
        joined[#joined] = before .. "=" .. word
      else
        joined[#joined + 1] = word
      end
    end
    return parse(self, joined)
  end

  parser:flag("-h --help", "Show this help."):action(function() leave(io.stdout, parser:get_help(), 0) end)
  function parser.fail(_, message) leave(io.stderr, "kbcd " .. name .. ": " .. message, 1) end
  function parser.error(_, message)
    leave(io.stderr, ("kbcd %s: %s\nSee kbcd %s --help."):format(name, message, name), 1)
  end
  return parser
end
