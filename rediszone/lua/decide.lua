-- Each key is looked at first; if all requests pass, those that charge are charged, else what a refusal cuts is cut. The answer is,
-- for each, the state that was found and whether it passed, then the instant; or that alone, if the terms do not hold for it.
local all, states, answer = true, {}, {}
for i = 1, #KEYS do
  local a = ARGV[i + 1]
  local pass, found, s = forms[byte(a)][1](KEYS[i], a)
  states[i], s.pass, answer[i] = s, pass, found .. (pass and '\1' or '\0')
  all = all and pass
end
local instant = write('>I4I4', floor(us / B), us % B)
if adrift then return instant end
for i = 1, #KEYS do
  local a = ARGV[i + 1]
  local mode, s = byte(a, 2) % 4, states[i]
  if mode > 0 and not s.pass then
    forms[byte(a)][2](KEYS[i], s, false)
  elseif mode == 2 and all then
    forms[byte(a)][2](KEYS[i], s, true)
  end
end
answer[#KEYS + 1] = instant
return table.concat(answer)
