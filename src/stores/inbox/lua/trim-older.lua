-- Drops entries older than a time and raises the floors to it, in the same step. Stands alone: floors are compared by time
-- only, as the new one has the least id.
-- KEYS: sorted-set inboxes (one hash slot on a cluster). ARGV: time. Returns how many entries were dropped.
local dropped = 0
for _, key in ipairs(KEYS) do
  local head = redis.pcall('ZRANGE', key, 0, 0)
  if not head.err and head[1] and string.sub(head[1], 1, 3) == 'v1 ' then
    local removed = redis.call('ZREMRANGEBYSCORE', key, 0, '(' .. ARGV[1])
    if removed > 0 then
      dropped = dropped + removed
      local fields = {}
      for field in string.gmatch(head[1], '%S+') do fields[#fields + 1] = field end
      for i = 6, 8 do
        if tonumber(string.match(fields[i], '^%d+')) < tonumber(ARGV[1]) then
          fields[i] = ARGV[1] .. ':00000000000000000000'
        end
      end
      redis.call('ZREMRANGEBYRANK', key, 0, 0)
      redis.call('ZADD', key, -1, table.concat(fields, ' '))
    end
  end
end
return dropped
