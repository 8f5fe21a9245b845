-- A function that calls itself without end.
local function depth(node)
  return 1 + depth(node.child or node)
end
print(depth{})
