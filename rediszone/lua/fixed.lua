-- A fixed window. The word is its end in ms, 40 bits, and the count, 24. A window opened by a clock slightly ahead is kept.
local function parts(h, l)
  return h * 256 + floor(l / 16777216), l % 16777216
end

local function ahead(e, of)
  e = (e - of) % 1099511627776
  if e >= 137438953472 then return e - 1099511627776 end
  return e
end

local function window(e, count)
  e = e % 1099511627776
  return floor(e / 256), e % 256 * 16777216 + count
end

local function fixed(h, l, a)
  local flags, cost, limit, full, w, from, till = read('>BI4I4I4I8I8I8', a, 2)
  local last = ms + w
  if till > 0 then
    adrift = adrift or ms < from or ms >= till
    last = till - floor((till - 1 - ms) / w) * w
  elseif flags % 128 < 64 then
    last = last - ms % w
  end
  local count, open, was = 0, 0, 0
  if h > 0 or l > 0 then
    local e, c = parts(h, l)
    open, was = ahead(e, ms), c
    if open > 0 then
      if ms + open <= last + 60000 then last = ms + open end
      count = math.min(c, full)
    end
  end
  if flags < 128 or cost > limit - count then
    if open > 0 and (ms + open ~= last or was ~= count) then h, l = window(last, count) end
    return false, h, l, last - ms
  end
  h, l = window(last, count + cost)
  return true, h, l, last - ms
end
forms[3] = { form(fixed) }
