-- A charge is taken back from its window, be it the current or the previous one by now.
undo[4] = function(h, l, bh, bl, ah, al, _, a)
  local back = read('>I4', a, 23)
  local index = floor(ah / 256)
  local _, _, charge = counts(ah, al, index, back)
  local before, _, had = counts(bh, bl, index, back)
  if (bh > 0 or bl > 0) and before >= 0 then charge = charge - math.min(charge, had) end
  local at, previous, current = counts(h, l, index, back)
  if at == 0 then
    return h, l - math.min(current, charge)
  elseif at == 1 then
    return sliced(floor(h / 256), previous - math.min(previous, charge), current)
  end
  return h, l
end
