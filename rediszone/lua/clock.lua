-- The instant of the decision: us microseconds and ns nanoseconds since the epoch. It is the server's, or the caller's, who then
-- has it in ARGV[1]; states are kept for a day more then, since nobody knows how fast the caller's time goes.
local B = 4294967296 -- a word is two halves of 32 bits: a Lua number holds 53
local floor, ceil, byte, sub = math.floor, math.ceil, string.byte, string.sub
local read, write, call, try = struct.unpack, struct.pack, redis.call, redis.pcall
local time = call('TIME')
local born = time[1] * 1000000 + time[2]
local us, ns, margin = born, 0, 1000
if ARGV[1] ~= '' then
  local h, l, n = read('>I4I4I2', ARGV[1])
  us, ns, margin = h * B + l, n, 86400000
end
local ms = floor(us / 1000)
local adrift = false -- the instant is one that the terms do not hold for
local forms, undo = {}, {}
