-- A state of one word is a string of 12 bytes: the word, and 4 bytes that name its life. What else is found under a key is
-- nobody's state, and is overwritten.
local function fetch(key)
  local v = try('GET', key)
  if type(v) == 'string' and #v == 12 then
    local h, l = read('>I4I4', v)
    return v, h, l
  end
  return write('>I4I4I4', 0, 0, born % B), 0, 0
end

local function keep(key, v, h, l, ttl)
  call('SET', key, write('>I4I4', h, l) .. sub(v, 9), 'PX', ceil(ttl) + margin)
end

-- A form of one word: look tells what it finds, settle stores.
local function form(step)
  return function(key, a)
    local v, h, l = fetch(key)
    local pass, nh, nl, ttl = step(h, l, a)
    return pass, v, { v, nh, nl, ttl, nh ~= h or nl ~= l }
  end, function(key, s, charge)
    if charge or s[5] then
      keep(key, s[1], s[2], s[3], s[4])
    elseif call('PTTL', key) == -1 then
      call('PEXPIRE', key, ceil(s[4]) + margin)
    end
  end
end
