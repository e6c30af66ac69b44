-- Gives back what was charged to a life of a state, if it goes on, and, where that is asked for, if nothing was charged behind it. A
-- state that is found without an expiry is given ARGV[3] milliseconds, the longest time that one of its limit says anything.
local form, flags, bh, bl, ah, al = read('>BBI4I4I4I4', ARGV[2])
local v, h, l = fetch(KEYS[1])
if (h == 0 and l == 0) or sub(v, 9) ~= sub(ARGV[2], 19, 22) then return 0 end
if flags % 128 >= 64 and (h ~= ah or l ~= al) then return 0 end
local nh, nl = undo[form](h, l, bh, bl, ah, al, flags, ARGV[2])
if nh == h and nl == l then return 0 end
local left = call('PTTL', KEYS[1])
if left == -1 then left = ARGV[3] end
call('SET', KEYS[1], write('>I4I4', nh, nl) .. sub(v, 9), 'PX', math.max(left, margin))
return 1
