-- The count of changes and all notes, if the count is not ARGV[1]; else nothing. Both are kept for ARGV[2] milliseconds more.
local version = redis.call('GET', KEYS[2]) or '0'
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
if version == ARGV[1] then return {} end
local all = redis.call('HGETALL', KEYS[1])
table.insert(all, 1, version)
return all
