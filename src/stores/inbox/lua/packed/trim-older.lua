-- Drops entries older than a time and raises the floors to it, in the same step; gives back the room.
-- KEYS: inboxes (one hash slot on a cluster). ARGV: time, the floor at that time as 15 bytes. Returns how many entries were
-- dropped. A damaged value is left to its reader.
local dropped = 0
for _, key in ipairs(KEYS) do
  local start, count, capacity, trimmed, recent = open(key)
  if start and call('STRLEN', key) == length_of(capacity) then
    local records = read_records(key, start, count) .. recent
    local place = find_in(records, tonumber(ARGV[1]), 0, 0)
    if place > 0 then
      if trimmed == 1 then settle(key, start, count, recent) end
      local floors = {}
      for i = 0, 2 do
        local at = FLOORS + 15 * i
        floors[i + 1] = newest_floor(call('GETRANGE', key, at, at + 14), ARGV[2])
      end
      local rest = call('GETRANGE', key, SEQS, FLOORS - 1) .. table.concat(floors) .. call('GETRANGE', key, NONCE, HEAD - 1)
      write_records(key, 0, rest, sub(records, RECORD * place + 1))
      dropped = dropped + place
    end
  end
end
return dropped
