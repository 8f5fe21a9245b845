-- ranks: 1
-- Random problems on 1, 2, 3 and 4 ranks (tests/endurance/property.lua): descent at every block, streamed = materialised; and
-- here that the fitted values do not depend on the number of ranks. KBCD_PROBLEMS says how many, KBCD_SEED which.

local kbcd = require "kbcd"
local spec, shell = require "spec", require "shell"

local count, seed = os.getenv("KBCD_PROBLEMS") or "5", os.getenv("KBCD_SEED") or "1"

shell.test("invariants of random problems of seed " .. seed, function()
  local names
  for ranks = 1, 4 do
    local result = shell.succeeds(([[$clean timeout %d $KBCD_MPIRUN -n %d "$KBCD" --threads 1 \
      "$KBCD_SOURCE/tests/endurance/property.lua" %s %s ranks%d.h5]]):format(60 + 10 * count, ranks, seed, count, ranks))
    io.write(("seed %s, %d ranks: %s"):format(seed, ranks, result.out))
    local one = kbcd.h5.open(shell.tmp .. "/ranks1.h5")
    local here = kbcd.h5.open(("%s/ranks%d.h5"):format(shell.tmp, ranks))
    names = names or one:datasets()
    spec.equal(table.concat(here:datasets(), " "), table.concat(names, " "), "the problems")
    for _, name in ipairs(names) do
      if not name:find("_tolerance$") then
        local rows, tolerance = one:shape(name)[1], one:read(name .. "_tolerance", 1, 1):max()
        local off = (one:read(name, 1, rows) - here:read(name, 1, rows)):abs():max()
        local same = off <= tolerance  -- false for NaN, too
        if not same then
          error(("seed %s: %s: %d ranks differ from 1 by %g, more than %g"):format(seed, name, ranks, off, tolerance))
        end
      end
    end
    one:close()
    here:close()
  end
end)

shell.finish()
