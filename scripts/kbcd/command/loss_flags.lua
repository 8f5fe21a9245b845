-- The loss of a command: --loss NAME and a flag --loss-PARAMETER for every parameter that a loss declares.
--
--     loss_flags.add(parser)
--     loss_flags.check(parser, o)                    refuses a flag that the chosen loss does not have
--     loss_flags.make(o, algorithm, task)            the loss of a run; an error if it is not for the task
--     loss_flags.given(o)                            a list of { flag, value }

local losses = require "kbcd.descent.loss"
local declared_flags = require "kbcd.command.declared_flags"

local loss_flags = {}

local flags = declared_flags{ family = "loss", declared = losses.declared, otherwise = "squared", prefixed = true }

loss_flags.given = flags.given

function loss_flags.add(parser)
  flags.add(parser, "The loss that is minimised: of newton methods logistic unless given, of others squared")
end

function loss_flags.check(parser, o)
  local fault = flags.fault(o)
  if fault then parser:error(fault) end
end

function loss_flags.make(o, algorithm, task)
  local name = o.loss or algorithm.loss or "squared"
  local loss
  for _, declared in ipairs(losses.declared) do
    if declared.name == name then loss = declared.new(o.loss and flags.values(o) or {}) end
  end
  if loss.task ~= "any" and loss.task ~= task then
    error(("%s is for %s, and y holds %s; %s"):format(o.loss and "--loss " .. name or algorithm.name .. " minimises the " ..
      name .. " loss, which", loss.task == "classify" and "classes" or "real targets",
      task == "classify" and "classes" or "real targets", task == "classify" and
      "--loss logistic or hinge fits classes, --task regress takes labels for numbers" or
      "--loss huber or quantile fits real targets, --task classify takes whole numbers for labels"), 0)
  end
  return loss
end

return loss_flags
