-- Each key is looked at first; if all requests pass, those that charge are charged, else what a refusal cuts is cut. The answer is,
-- for each, the state that was found and whether it passed, then the instant; or that alone, if the terms do not hold for it.
local at = write('>I4I4', floor(us / B), us % B)
if #KEYS == 1 then -- as below, for most requests
  local a = ARGV[2]
  local look, settle = unpack(forms[byte(a)])
  local pass, found, s = look(KEYS[1], a)
  local mode = byte(a, 2) % 4
  if adrift then return at end
  if mode == 2 or mode == 1 and not pass then settle(KEYS[1], s, pass) end
  return found .. (pass and '\1' or '\0') .. at
end
local all, states, answer = true, {}, {}
for i = 1, #KEYS do
  local a = ARGV[i + 1]
  local pass, found, s = forms[byte(a)][1](KEYS[i], a)
  states[i], s.pass, answer[i] = s, pass, found .. (pass and '\1' or '\0')
  all = all and pass
end
if adrift then return at end
for i = 1, #KEYS do
  local a = ARGV[i + 1]
  local mode, s = byte(a, 2) % 4, states[i]
  if mode > 0 and not s.pass then
    forms[byte(a)][2](KEYS[i], s, false)
  elseif mode == 2 and all then
    forms[byte(a)][2](KEYS[i], s, true)
  end
end
answer[#KEYS + 1] = at
return table.concat(answer)
