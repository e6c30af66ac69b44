-- A debt in time. The word is the instant at which all is paid. The request passes with a debt of at most `most`, and adds to it.
-- A debt beyond a full one is cut to it, unless it is so by less than the request may be late.
local function debt(h, l, a)
  local flags, mh, ml, ah, al, fh, fl = read('>BI4I4I4I4I4I4', a, 2)
  local dh, dl = minus(h, l, nowh, nowl)
  if above(dh, dl, fh, fl) then
    local xh, xl = minus(dh, dl, fh, fl)
    if xh > 0 or xl > 10000000 then
      dh, dl = fh, fl
      h, l = plus(nowh, nowl, fh, fl)
    end
  end
  if flags < 128 or above(dh, dl, mh, ml) then
    return false, h, l, (dh * B + dl) / 1000000
  end
  dh, dl = plus(dh, dl, ah, al)
  h, l = plus(nowh, nowl, dh, dl)
  return true, h, l, (dh * B + dl) / 1000000
end
forms[1] = { form(debt) }
