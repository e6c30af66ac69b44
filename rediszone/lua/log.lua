-- An exact log. A list: 4 bytes that name its life, then the stamps, 19 digits each, oldest first.
local function stamp(us, ns)
  return string.format('%016.0f%03d', us, ns)
end

local function trim(key, latest)
  for i = -1, 1 - call('LLEN', key), -1 do
    if call('LINDEX', key, i) <= latest then return end
    call('LSET', key, i, latest)
  end
end

forms[5] = { function(key, a)
  local flags, cost, limit, full, w = read('>BI4I4I4I8', a, 2)
  local n = try('LLEN', key)
  local s = { write('>I4', born % B), 0, 1, false, '', w, cost }
  local since, latest = '', stamp(us + 60000000, ns)
  if us >= w * 1000 then since = stamp(us - w * 1000, ns) end
  if type(n) ~= 'number' then
    s[4] = true
  elseif n > 1 then
    local life, last = call('LINDEX', key, 0), call('LINDEX', key, -1)
    s[1], s[2], s[3] = life, 0, n
    if #life ~= 4 then
      s[1], s[4] = write('>I4', born % B), true
    elseif last > since then
      local lo, hi = 1, n - 1 -- the first that counts
      if call('LINDEX', key, 1) > since then hi = 1 end
      while lo < hi do
        local m = floor((lo + hi) / 2)
        if call('LINDEX', key, m) > since then hi = m else lo = m + 1 end
      end
      s[2], s[3] = math.min(n - lo, full), math.max(lo, n - full)
      if last > latest then s[5] = latest end
    end
  end
  local pass, told = flags >= 128 and cost <= limit - s[2], stamp(us, ns)
  if pass then
    if s[2] > 0 then
      local last = call('LINDEX', key, -1)
      if last > latest then last = latest end
      if last > told then told = last end
    end
    s[8] = told
  elseif flags >= 128 then
    told = call('LINDEX', key, s[3] + s[2] + cost - limit - 1)
    if told > latest then told = latest end
  end
  local h, l = instant(tonumber(sub(told, 1, 16)), tonumber(sub(told, 17)))
  return pass, write('>I4I4', h, l) .. s[1] .. write('>I4', s[2]), s
end, function(key, s, charge)
  if charge then
    if s[4] or s[2] == 0 then
      call('DEL', key)
      call('RPUSH', key, s[1])
    elseif s[3] > 1 then
      call('LTRIM', key, s[3] - 1, -1)
      call('LSET', key, 0, s[1])
    end
  end
  if s[5] ~= '' then trim(key, s[5]) end
  if charge then
    local left = s[7]
    while left > 0 do
      local more = {}
      for i = 1, math.min(left, 1000) do more[i] = s[8] end
      call('RPUSH', key, unpack(more))
      left = left - #more
    end
  end
  if charge or call('PTTL', key) == -1 then
    call('PEXPIRE', key, s[6] + 60000 + margin)
  end
end }
