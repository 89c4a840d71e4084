-- Removes entries; with a followSeq only while the inbox covers exactly the follows up to it.
-- KEYS: inbox. ARGV: followSeq or '', then the members.
local fields = read_head(KEYS[1])
if not fields or (ARGV[1] ~= '' and fields[3] ~= ARGV[1]) then return 0 end
for i = 2, #ARGV do redis.call('ZREM', KEYS[1], ARGV[i]) end
return 1
