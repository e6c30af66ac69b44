-- A sliding window. The word is the number of the window, 24 bits, and what was admitted in the one before and in it, 20 each. Of
-- the one before the part that still lies in the window counts, rounded down.
local function counts(h, l, index, back)
  local ahead = (floor(h / 256) - index) % 16777216
  if ahead > back then ahead = ahead - 16777216 end
  return ahead, h % 256 * 4096 + floor(l / 1048576), l % 1048576
end

local function sliced(index, previous, current)
  return index % 16777216 * 256 + floor(previous / 4096), previous % 4096 * 1048576 + current
end

-- previous * (rest ms - over ns) / w ms, rounded down, though the product has more bits than a number.
local function weigh(previous, rest, over, w)
  local high, low = floor(previous / 1024), previous % 1024
  local r = math.fmod(high * rest, w)
  local q = (high * rest - r) / w * 1024
  local x = r * 1024 + low * rest
  r = math.fmod(x, w)
  return q + (x - r) / w + floor((r - ceil(previous * over / 1000000)) / w)
end

local function sliding(h, l, a)
  local flags, cost, limit, full, w, back = read('>BI4I4I4I8I4', a, 2)
  local index = floor(ms / w)
  local rest, over = w - ms % w, us % 1000 * 1000 + ns
  local ahead, previous, current, p, c = 0, 0, 0, 0, 0
  local at, seen = index, h > 0 or l > 0
  if seen then
    ahead, p, c = counts(h, l, index, back)
    previous, current = math.min(p, full), math.min(c, full)
    if ahead == 1 and rest * 1000000 - over <= 60000000000 then
      at, rest, over = index + 1, w, 0
    elseif ahead == -1 then
      previous, current = current, 0
    elseif ahead < -1 then
      previous, current = 0, 0
    end
  end
  local used = weigh(previous, rest, over, w) + current
  if flags < 128 or cost > limit - used then
    if seen and (ahead > at - index or ahead >= 0 and (p ~= previous or c ~= current)) then
      h, l = sliced(at, previous, current)
    end
    return false, h, l, math.max(2 * w, (at + 2) * w - ms)
  end
  h, l = sliced(at, previous, current + cost)
  return true, h, l, math.max(2 * w, (at + 2) * w - ms)
end
forms[4] = { form(sliding) }
