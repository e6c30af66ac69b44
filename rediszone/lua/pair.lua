-- Sums and differences of words. A difference is not below 0.
local function plus(ah, al, bh, bl)
  local h, l = ah + bh, al + bl
  if l >= B then return h + 1, l - B end
  return h, l
end

local function minus(ah, al, bh, bl)
  local h, l = ah - bh, al - bl
  if l < 0 then h, l = h - 1, l + B end
  if h < 0 then return 0, 0 end
  return h, l
end

local function above(ah, al, bh, bl)
  return ah > bh or ah == bh and al > bl
end

-- The word of an instant: its nanoseconds.
local function instant(us, ns)
  local h = floor(us / B)
  local l = (us - h * B) * 1000 + ns
  local carry = floor(l / B)
  return h * 1000 + carry, l - carry * B
end

local nowh, nowl = instant(us, ns)
