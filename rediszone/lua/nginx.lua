-- nginx's arithmetic. The word is excess and last, the millisecond of the last charge: 22 | 40 | 1, or 30 | 32 | 2.
local function unpacked(h, l)
  local bits, back = 4, 1073741824
  if l % 4 == 1 then bits, back = 1024, 137438953472 end
  local mod = bits * 1073741824
  local ago = (ms - (h % bits * 1073741824 + floor(l / 4))) % mod
  if ago >= mod - back then ago = ago - mod end
  return floor(h / bits), ago
end

local function packed(excess, last)
  local bits, mark = 1024, 1
  if excess > 4194303 then
    bits, mark, excess = 4, 2, math.min(excess, 1073741823)
  end
  return excess * bits + floor(last / 1073741824) % bits, last % 1073741824 * 4 + mark
end

local function leak(excess, elapsed, rate, flush)
  if elapsed >= flush then return 0 end
  return math.max(excess - floor(rate * elapsed / 1000) + 1000, 0)
end

local function nginx(h, l, a)
  local flags, mh, ml, ah, al, rh, rl, flush = read('>BI4I4I4I4I4I4I8', a, 2)
  local excess, ago, elapsed, seen, rate = 0, 0, 0, h > 0 or l > 0, rh * B + rl
  if seen then
    excess, ago = unpacked(h, l)
    if ago < -60000 then elapsed = 1 elseif ago > 0 then elapsed = ago end
    local was = excess
    excess = leak(excess, elapsed, rate, flush)
    if flags < 128 or excess > mh * B + ml then
      return false, h, l, math.max((was + 1000) * 1000 / rate - ago, 0)
    end
  elseif flags < 128 or excess > mh * B + ml then
    return false, h, l, 0
  end
  excess = excess + ah * B + al
  local last = ms
  if seen and elapsed == 0 then last = ms - ago end
  h, l = packed(excess, last)
  return true, h, l, (excess + 1000) * 1000 / rate + last - ms
end
forms[2] = { form(nginx) }
