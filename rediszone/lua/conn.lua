-- Places. A sorted set: a member for each place, its score the millisecond, by the server's clock, at which it is free again if
-- its holder does not say that it still has it.
local real = floor(born / 1000)

forms[6] = { function(key, a)
  local flags, cost, limit, lease = read('>BI4I4I4', a, 2)
  local held = try('ZCOUNT', key, '(' .. real, '+inf')
  local foreign = type(held) ~= 'number'
  if foreign then held = 0 end
  return flags >= 128 and cost <= limit - held, write('>I4I4I4', 0, held, 0), { lease, sub(a, 15), foreign }
end, function(key, s, charge)
  if charge then
    if s[3] then call('DEL', key) end
    call('ZREMRANGEBYSCORE', key, '-inf', real)
    call('ZADD', key, real + s[1], s[2])
  end
  if call('PTTL', key) < s[1] + 1000 then
    call('PEXPIRE', key, s[1] + 1000)
  end
end }
