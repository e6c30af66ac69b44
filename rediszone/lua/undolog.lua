-- Removes as many equal stamps as were charged to a life of a log, if it goes on. One that is found without an expiry is given
-- ARGV[4] milliseconds.
if redis.pcall('LINDEX', KEYS[1], 0) ~= ARGV[1] then return 0 end
local n = redis.call('LREM', KEYS[1], ARGV[2], ARGV[3])
if redis.call('PTTL', KEYS[1]) == -1 then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
return n
