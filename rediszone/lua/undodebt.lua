-- What was charged is the time from the later of before and now to after. What has passed of it is gone; of what came behind it
-- nothing is taken, or, where later turns were promised, only what nobody was promised.
undo[1] = function(h, l, bh, bl, ah, al, flags)
  local fh, fl = bh, bl
  if above(nowh, nowl, bh, bl) then fh, fl = nowh, nowl end
  local gh, gl = minus(ah, al, fh, fl) -- given back
  if flags >= 128 and above(h, l, ah, al) then
    local kh, kl = minus(gh, gl, minus(h, l, ah, al))
    return minus(h, l, kh, kl)
  end
  if h == ah and l == al then return bh, bl end
  local rh, rl = minus(h, l, nowh, nowl) -- what is owed at all
  if above(gh, gl, rh, rl) then gh, gl = rh, rl end
  return minus(h, l, gh, gl)
end
