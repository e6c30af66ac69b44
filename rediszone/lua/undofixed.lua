-- A window keeps its end. What was charged to one that is over went with it.
undo[3] = function(h, l, bh, bl, ah, al)
  local e, count = parts(h, l)
  local mine, after = parts(ah, al)
  if e ~= mine then return h, l end
  local was, had = parts(bh, bl)
  if bh == 0 and bl == 0 or ahead(was, mine) < 0 then had = 0 end
  return h, l - math.min(count, after - math.min(after, had))
end
