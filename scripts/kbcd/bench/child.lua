-- What launch.lua runs on every rank: fit(s) with s, a JSON text, as the argument; prints the result as a line of JSON.

local cjson = require "cjson"
local kbcd = require "kbcd"
local data, fit = require "kbcd.bench.data", require "kbcd.bench.fit"

local s = cjson.decode(arg[1])
local set = data.images(s.images)
local result = fit(s, set)
result.bytes = kbcd.allreduce_max(data.bytes(set))
result.memory = kbcd.allreduce_max(kbcd.memory_peak())
kbcd.say("result: %s", cjson.encode(result))
