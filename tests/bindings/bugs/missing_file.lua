-- The data is not there.
local kbcd = require "kbcd"
local X = kbcd.load("no_such_data.npy")
print(X)
