-- One page and the head. O(log n + page), also when thousands share one time.
-- KEYS: inbox. ARGV: 'older' or 'newer', limit, and time, high and low half of the id, or none from the newest entry.
-- Returns the head, the page's records (ascending) and, when it raises the floors, the oldest record. Without an inbox 0,
-- and 1 when the value is damaged or none of ours.
local key, limit = KEYS[1], tonumber(ARGV[2])
local start, count, capacity, trimmed = open(key)
if not start then return count end
if call('STRLEN', key) ~= length_of(capacity) then return 1 end

local from, to = math.max(0, count - limit), count
if ARGV[3] then
  local place, is_here = find(key, start, count, tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]))
  if ARGV[1] == 'older' then
    from, to = math.max(0, place - limit), place
  else
    from = is_here and place + 1 or place
    to = math.min(count, from + limit)
  end
end
return {
  call('GETRANGE', key, 0, HEAD - 1),
  read_records(key, start + from, to - from),
  trimmed == 1 and read_records(key, start, 1) or '',
}
