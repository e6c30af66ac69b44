-- Removes as many equal stamps as were charged to a life of a log, if it goes on.
if redis.pcall('LINDEX', KEYS[1], 0) ~= ARGV[1] then return 0 end
return redis.call('LREM', KEYS[1], ARGV[2], ARGV[3])
