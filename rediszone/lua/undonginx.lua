-- What was charged is what the excess grew by; a charge of c is c requests to whoever came behind it. What has leaked of it is gone.
local function lessened(h, l, bh, bl, ah, al, rate, flush)
  if h == ah and l == al then return bh, bl end
  local excess, ago = unpacked(h, l)
  local mine, is = unpacked(ah, al)
  local base = 0
  if bh > 0 or bl > 0 then
    local had, was = unpacked(bh, bl)
    local elapsed = math.max(was - is, 0)
    if was - is < -60000 then elapsed = 1 end
    base = leak(had, elapsed, rate, flush)
  end
  local amount = math.min(math.max(mine - base + 1000, 0), leak(mine, math.max(is, 0), rate, flush))
  return packed(math.max(excess - amount, 0), ms - ago)
end

undo[2] = function(h, l, bh, bl, ah, al, flags, a)
  local rate, flush = read('>I8I8', a, 23)
  local nh, nl = lessened(h, l, bh, bl, ah, al, rate, flush)
  if flags < 128 or h == ah and l == al then return nh, nl end
  local have, ago = unpacked(h, l)
  local mine, is = unpacked(ah, al)
  local left = math.max(mine - floor(rate * math.max(is - ago, 0) / 1000), 0)
  local rest = 0
  if nh > 0 or nl > 0 then rest = unpacked(nh, nl) end
  return packed(have - math.max(have - rest - math.max(have - left, 0), 0), ms - ago)
end
