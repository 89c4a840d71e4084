-- Drops entries older than a time and raises the floors to it, in the same step.
-- KEYS: inboxes (one hash slot on a cluster). ARGV: time, the floor at that time. Returns how many entries were dropped.
local dropped = 0
for _, key in ipairs(KEYS) do
  local fields = read_head(key)
  local removed = fields and redis.call('ZREMRANGEBYSCORE', key, 0, '(' .. ARGV[1]) or 0
  if removed > 0 then
    dropped = dropped + removed
    for i = 6, 8 do fields[i] = newest_floor(fields[i], ARGV[2]) end
    write_head(key, fields)
  end
end
return dropped
