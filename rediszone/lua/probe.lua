-- Tries all that scripts do, on a key of its own that is gone afterwards, or soon. The answer is what can't be done, or nothing.
local key = KEYS[1]
local tries = {
  { 'TIME' }, { 'GET', key }, { 'SET', key, '1', 'PX', 1000 }, { 'PTTL', key }, { 'PEXPIRE', key, 1000 }, { 'EXISTS', key },
  { 'DEL', key },
  { 'RPUSH', key, '1', '2' }, { 'LLEN', key }, { 'LINDEX', key, 0 }, { 'LSET', key, 0, '3' }, { 'LREM', key, 1, '2' }, { 'LTRIM', key, 0, 0 },
  { 'DEL', key },
  { 'ZADD', key, 1, '1' }, { 'ZCOUNT', key, 0, 1 }, { 'ZRANGE', key, 0, -1 }, { 'ZREM', key, '1' }, { 'ZREMRANGEBYSCORE', key, 0, 1 },
  { 'HSET', key, '1', '2' }, { 'HGET', key, '1' }, { 'HGETALL', key }, { 'HDEL', key, '1' },
  { 'INCR', key }, { 'DEL', key },
}
local refused = ''
for i = 1, #tries do
  local a = redis.pcall(unpack(tries[i]))
  if type(a) == 'table' and a.err then
    refused = tries[i][1] .. ': ' .. a.err
    break
  end
end
redis.pcall('DEL', key)
return refused
