-- Has places go on for another lease: those that were lost, because the store lost them, are there again.
local time = redis.call('TIME')
local now, lease = time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[1])
for i = 2, #ARGV do
  redis.call('ZADD', KEYS[1], now + lease, ARGV[i])
end
if redis.call('PTTL', KEYS[1]) < lease + 1000 then
  redis.call('PEXPIRE', KEYS[1], lease + 1000)
end
return 0
