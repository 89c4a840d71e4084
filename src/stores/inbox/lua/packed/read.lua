-- One page and the head. O(log n + page), also when thousands share one time.
-- KEYS: inbox. ARGV: 'older' or 'newer', limit, and time, high and low half of the id, or none from the newest entry.
-- Returns the bytes before main, the page's records (ascending) and, when it raises the floors, the oldest record. Without
-- an inbox 0, and 1 when the value is damaged or none of ours.
local key, limit = KEYS[1], tonumber(ARGV[2])
local start, count, capacity, trimmed, recent = open(key)
if not start then return count end
if call('STRLEN', key) ~= length_of(capacity) then return 1 end
local total = count + #recent / RECORD

-- In all records: those of main, then the recent ones.
local function place_of(time, high, low)
  local place, is_here = find_in(recent, time, high, low)
  if place > 0 or is_here or count == 0 then return count + place, is_here end
  return find(key, start, count, time, high, low)
end

local from, to = math.max(0, total - limit), total
if ARGV[3] then
  local place, is_here = place_of(tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]))
  if ARGV[1] == 'older' then
    from, to = math.max(0, place - limit), place
  else
    from = is_here and place + 1 or place
    to = math.min(total, from + limit)
  end
end
local page = read_records(key, start + from, math.min(to, count) - from)
if to > count then page = page .. sub(recent, RECORD * math.max(0, from - count) + 1, RECORD * (to - count)) end
local oldest = trimmed == 1 and (count > 0 and read_records(key, start, 1) or sub(recent, 1, RECORD)) or ''
return { call('GETRANGE', key, 0, HEAD - 1), page, oldest }
