-- Takes the notes ARGV[1], ARGV[3] … away that still say ARGV[2], ARGV[4] …
for i = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then redis.call('HDEL', KEYS[1], ARGV[i]) end
end
return 1
