-- Puts one entry into each inbox that exists.
-- KEYS: inboxes (one hash slot on a cluster). ARGV: score, member, cap. Returns how many inboxes exist.
local present = 0
for _, key in ipairs(KEYS) do
  local fields = read_head(key)
  if fields then
    present = present + 1
    if redis.call('ZADD', key, ARGV[1], ARGV[2]) == 1 then trim(key, fields, tonumber(ARGV[3])) end
  end
end
return present
