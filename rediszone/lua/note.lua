-- The note ARGV[1] becomes ARGV[2], or goes where that is empty; the hash KEYS[1] and the count of changes KEYS[2] are kept for
-- ARGV[3] milliseconds. The count never comes back to what it was, also in a store that was emptied: it begins with the time.
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
if redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('SET', KEYS[2], redis.call('TIME')[1] .. '000')
end
redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1
