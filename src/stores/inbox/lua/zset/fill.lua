-- Merges what a rebuild pulled and sets the head. What was trimmed since the rebuild began bounds the floors.
-- KEYS: inbox. ARGV: nonce, cap, epoch, followSeq, activeSeq, awakeSeq, allFloor, activeFloor, then score and member of
-- each entry. Returns 1, or 0 when another rebuild has begun or the inbox is gone.
local key = KEYS[1]
local fields = read_head(key)
if not fields or fields[9] ~= ARGV[1] then return 0 end
for i = 1, 4 do fields[i + 1] = ARGV[i + 2] end
fields[6] = newest_floor(ARGV[7], fields[8])
fields[7] = newest_floor(ARGV[8], fields[8])
write_head(key, fields)
for i = 9, #ARGV, 2 do redis.call('ZADD', key, ARGV[i], ARGV[i + 1]) end
trim(key, fields, tonumber(ARGV[2]))
return 1
